# torchrun --nproc-per-node 2 lessons/07_ddp/twins/unused.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()

class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.spare = (torch.nn.Parameter(torch.ones(1)) for _ in range(3))

    def forward(self, x):
        return x * (self.left if rank == 0 else self.right)  # rank 1 never uses left; no rank uses spare

model = Branches()
ddp = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
ddp(torch.tensor([6.0])).sum().backward()
if rank == 0:
    for name, parameter in model.named_parameters():
        print(name, None if parameter.grad is None else parameter.grad.item())
dist.destroy_process_group()
