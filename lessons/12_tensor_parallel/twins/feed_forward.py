# torchrun --nproc-per-node 2 lessons/12_tensor_parallel/twins/feed_forward.py
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))

def layer():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))

def passes(model):
    x = torch.ones(3, 8, requires_grad=True)  # the same on both ranks
    with CommDebugMode() as forward:
        y = model(x)
    with CommDebugMode() as backward:
        y.square().sum().backward()
    return y, x.grad, forward.get_comm_counts(), backward.get_comm_counts()

def told(counts):
    return {str(op).split(".")[-1]: n for op, n in counts.items()}

expected, expected_grad, _, _ = passes(layer())
cut = parallelize_module(layer(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
y, grad, forward, backward = passes(cut)
if dist.get_rank() == 0:
    print("weights:", *(tuple(cut[i].weight.to_local().shape) for i in (0, 2)))
    print(f"forward {told(forward)}, backward {told(backward)}")
    print("as on one device:", torch.allclose(y, expected), torch.allclose(grad, expected_grad))
dist.destroy_process_group()
