# torchrun --nproc-per-node 2 lessons/12_tensor_parallel/twins/loss.py
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.functional import cross_entropy

dist.init_process_group("gloo")
rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,))
torch.manual_seed(0)
logits, labels = torch.randn(3, 10), torch.tensor([1, 7, 9])
mine = DTensor.from_local(logits[:, 5 * rank : 5 * rank + 5].contiguous(), mesh, [Shard(1)])
with loss_parallel(), CommDebugMode() as counted:
    loss = cross_entropy(mine, labels)
whole = loss.full_tensor()
if rank == 0:
    counts = {str(op).split(".")[-1]: n for op, n in counted.get_comm_counts().items()}
    print(f"{counts}, as on one device: {torch.allclose(whole, cross_entropy(logits, labels))}")
dist.destroy_process_group()
