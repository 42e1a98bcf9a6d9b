# torchrun --nproc-per-node 3 lessons/05_data_parallel/twins/ddp.py
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())  # different weights, and different samples, on each rank
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))  # broadcasts, once
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    optimizer.zero_grad()
    (model(torch.randn(8, 4)) - 1).square().mean().backward()  # averages the gradients
    optimizer.step()
dist.all_gather_object(weights := [None] * 3, model.module.weight.tolist())
if dist.get_rank() == 0:
    print("replicas are equal bit for bit:", weights == weights[:1] * 3)
dist.destroy_process_group()
