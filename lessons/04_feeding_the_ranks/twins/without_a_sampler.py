# torchrun --nproc-per-node 3 lessons/04_feeding_the_ranks/twins/without_a_sampler.py
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
data = torch.arange(6)
plain = DataLoader(data, batch_size=2, shuffle=True)
sampled = DataLoader(data, batch_size=2, sampler=DistributedSampler(data))
for name, loader in ("no sampler", plain), ("sampler", sampled):
    read = [None] * dist.get_world_size()
    dist.all_gather_object(read, [batch.tolist() for batch in loader])
    if dist.get_rank() == 0:
        print(name, *read, sep=" | ")
dist.destroy_process_group()
