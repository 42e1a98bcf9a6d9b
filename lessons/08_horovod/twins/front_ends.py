# torchrun --nproc-per-node 2 lessons/08_horovod/twins/front_ends.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.arange(8.0).reshape(8, 1)

def train(model, mine):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        (model(mine) - 2 * mine).square().mean().backward()
        optimizer.step()
    return [f"{p.item():.4f}" for p in model.parameters()]

torch.manual_seed(0)
plain = train(torch.nn.Linear(1, 1), x)  # one device, all eight samples
torch.manual_seed(rank)
ddp = train(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)), x[rank::size])
if rank == 0:
    print("plain:", *plain, "  DDP:", *ddp)
dist.destroy_process_group()
