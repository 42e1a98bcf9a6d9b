# torchrun --nproc-per-node 2 lessons/11_sharding/twins/fsdp2.py
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.utils import clip_grad_norm_

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))

def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(5, 5) for _ in range(3)))

def backward(model):
    model(torch.ones(2, 5)).square().mean().backward()
    return model

def sharded(reshard):
    model = layers()
    for block in model:
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    return fully_shard(model, mesh=mesh, reshard_after_forward=reshard)

def told(line):
    if dist.get_rank() == 0: print(line)

for reshard in True, False:
    model = sharded(reshard)
    with CommDebugMode() as counted:
        backward(model)
    counts = {str(op).split(".")[-1]: n for op, n in counted.get_comm_counts().items()}
    told(f"reshard_after_forward={reshard}: {counts}")
dist.all_gather_object(rows := [None, None], tuple(model[0].weight.to_local().shape))
told(f"weight {tuple(model[0].weight.shape)} as {rows[0]} and {rows[1]}")
norm, whole = clip_grad_norm_(model.parameters(), 1.0), clip_grad_norm_(backward(layers()).parameters(), 1.0)
same = torch.allclose(norm.full_tensor(), whole)
told(f"clip_grad_norm_ sees the norm of one device: {same}")
dist.destroy_process_group()
