# torchrun --nproc-per-node 2 lessons/11_sharding/twins/fsdp2.py
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))

def step(reshard):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(5, 5) for _ in range(3)))
    for block in model:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    counts = {}
    with CommDebugMode() as forward:
        loss = model(torch.ones(2, 5)).square().mean()
    with CommDebugMode() as backward:
        loss.backward()
    for name, mode in ("forward", forward), ("backward", backward):
        counts[name] = {str(op).split(".")[-1]: n for op, n in mode.get_comm_counts().items()}
    return model, counts

for reshard in True, False:
    model, counts = step(reshard)
    if dist.get_rank() == 0: print(f"reshard_after_forward={reshard}: {counts}")
weight = model[0].weight
rows = [None, None]
dist.all_gather_object(rows, tuple(weight.to_local().shape))
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
if dist.get_rank() == 0:
    print(f"weight {tuple(weight.shape)} as {rows[0]} and {rows[1]}; norm of all shards {norm:.3f}")
dist.destroy_process_group()
