# torchrun --nproc-per-node 2 lessons/10_compression/twins/hooks.py
import torch, torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

dist.init_process_group("gloo")

def divides_after(_, bucket):
    future = dist.all_reduce(bucket.buffer().half(), async_op=True).get_future()
    return future.then(lambda sum: sum.value()[0].float() / dist.get_world_size())

def forgets(_, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda sum: sum.value()[0])

hooks = [forgets, divides_after, default_hooks.fp16_compress_hook, default_hooks.bf16_compress_hook]
for hook in [None, *hooks]:
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
    if hook: ddp.register_comm_hook(None, hook)
    ddp(torch.tensor([[60_000.0, 1 / 3, 1e-8]])).sum().backward()  # the gradient is the input
    if dist.get_rank() == 0:
        name = hook.__name__ if hook else "no hook"
        print(f"{name:18}", *(f"{g:11.6g}" for g in ddp.module.weight.grad[0]))
dist.destroy_process_group()
