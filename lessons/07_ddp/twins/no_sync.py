# torchrun --nproc-per-node 2 lessons/07_ddp/twins/no_sync.py
import contextlib, torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))

def gradients(forward_in, backward_in):  # of both ranks; alone, rank 0's is 1 and rank 1's is 2
    ddp.zero_grad()
    with ddp.no_sync() if forward_in else contextlib.nullcontext():
        loss = ddp(torch.tensor([[rank + 1.0]])).sum()
    with ddp.no_sync() if backward_in else contextlib.nullcontext():
        loss.backward()
    dist.all_gather_object(both := [None, None], ddp.module.weight.grad.item())
    return both

for forward_in, backward_in in (False, False), (True, True), (True, False), (False, True):
    both = gradients(forward_in, backward_in)
    if rank == 0:
        print("no_sync around forward:", forward_in, "around backward:", backward_in, "->", both)
dist.destroy_process_group()
