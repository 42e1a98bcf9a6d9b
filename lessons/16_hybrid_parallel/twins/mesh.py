# torchrun --nproc-per-node 8 lessons/16_hybrid_parallel/twins/mesh.py
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("pp", "dp", "tp"))  # the slowest first
rank = torch.tensor([dist.get_rank()])
if rank == 5:
    print("pp dp tp:", mesh.mesh.tolist())
for name in ("tp", "dp", "pp"):
    ranks = torch.zeros(2, dtype=torch.int64)
    dist.all_gather_into_tensor(ranks, rank, group=mesh[name].get_group())
    if rank == 5:
        print(f"rank 5: {name} {mesh.get_local_rank(name)} in {ranks.tolist()}")
dist.destroy_process_group()
