# torchrun --nproc-per-node 2 lessons/11_sharding/twins/zero_redundancy.py
import torch, torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()

def trained(make):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(9, 9), torch.nn.ReLU(), torch.nn.Linear(9, 3))
    ddp = DistributedDataParallel(model)
    optimizer = make(model.parameters())
    torch.manual_seed(1 + rank)  # other samples on each rank
    for _ in range(10):
        optimizer.zero_grad()
        ddp(torch.randn(4, 9)).square().mean().backward()
        optimizer.step()
    return model, optimizer

plain, _ = trained(torch.optim.Adam)
model, optimizer = trained(lambda p: ZeroRedundancyOptimizer(p, torch.optim.Adam))
names = {p: name for name, p in model.named_parameters()}
mine = " ".join(f"{names[p]}({p.numel()})" for p in optimizer.optim.state)
same = all(torch.equal(p, q) for p, q in zip(plain.parameters(), model.parameters()))
dist.all_gather_object(told := [None, None], f"{mine}; the model is Adam's: {same}")
if rank == 0:
    for r, line in enumerate(told): print(f"rank {r}: moments of {line}")
dist.destroy_process_group()
