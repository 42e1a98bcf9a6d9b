# torchrun --nproc-per-node 4 lessons/07_ddp/twins/join.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
for by_all in True, False:
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
    seen = []
    with ddp.join(divide_by_initial_world_size=by_all):
        for _ in range(rank + 2):  # two inputs on rank 0, five on rank 3
            ddp.zero_grad()
            ddp(torch.tensor([[rank + 1.0]])).sum().backward()  # the gradient is the input
            seen.append(ddp.module.weight.grad.item())
    if rank == 3:  # the last one to join
        divisor = "all ranks: " if by_all else "live ranks:"
        print("divided by", divisor, *(f"{gradient:.2f}" for gradient in seen))
dist.destroy_process_group()
