# torchrun --nproc-per-node 3 lessons/17_fault_tolerance/twins/dcp.py
import os, shutil, tempfile, warnings, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Shard, distribute_tensor

dist.init_process_group("gloo")
rank = dist.get_rank()
dist.broadcast_object_list(name := [tempfile.mkdtemp() if rank == 0 else None])
folder = os.path.join(name[0], "step_10")
whole = torch.arange(48.0).view(8, 6)
two, three = DeviceMesh("cpu", [0, 1]), DeviceMesh("cpu", [0, 1, 2])

if rank < 2:  # two ranks save rows
    state = {"weight": distribute_tensor(whole, two, [Shard(0)])}
    dcp.save(state, checkpoint_id=folder, process_group=two.get_group())
dist.barrier()
state = {"weight": distribute_tensor(torch.zeros(8, 6), three, [Shard(1)])}
dcp.load(state, checkpoint_id=folder)  # three ranks load columns, in place

mine = state["weight"].to_local()
right = torch.equal(mine, whole[:, 2 * rank : 2 * rank + 2])
dist.all_gather_object(lines := [None] * 3, f"rank {rank} of 3: {tuple(mine.shape)}, right: {right}")
if rank == 0:
    print("files:", ", ".join(sorted(os.listdir(folder))))
    print("\n".join(lines))
    warnings.simplefilter("ignore")  # one that says what no_dist does
    alone = {"weight": torch.zeros(8, 6)}
    dcp.load(alone, checkpoint_id=folder, no_dist=True)  # one process
    print("one process, right:", torch.equal(alone["weight"], whole))
    shutil.rmtree(name[0])
dist.destroy_process_group()
