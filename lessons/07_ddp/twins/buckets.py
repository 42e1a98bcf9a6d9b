# torchrun --nproc-per-node 2 lessons/07_ddp/twins/buckets.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.Sequential(*(torch.nn.Linear(600, 600) for _ in range(4)))
ddp = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=2)
names = {id(p): name for name, p in model.named_parameters()}
buckets = []

def look(_, bucket):  # takes the place of DDP's all-reduce, so it averages itself
    buckets.append([names[id(p)] for p in bucket.parameters()])
    mean = bucket.buffer() / dist.get_world_size()
    work = dist.all_reduce(mean, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])

ddp.register_comm_hook(None, look)
for step in 1, 2:
    buckets.clear()
    ddp(torch.randn(8, 600)).square().mean().backward()
    if dist.get_rank() == 0:
        print("step", step, *(" ".join(names) for names in buckets), sep=" | ")
dist.destroy_process_group()
