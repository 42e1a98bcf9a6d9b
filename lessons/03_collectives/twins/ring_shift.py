# torchrun --nproc-per-node 3 lessons/03_collectives/twins/ring_shift.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
mine, from_left = torch.tensor([10.0 * rank]), torch.empty(1)
works = dist.batch_isend_irecv([
    dist.P2POp(dist.isend, mine, (rank + 1) % n),
    dist.P2POp(dist.irecv, from_left, (rank - 1) % n),
])
for work in works:
    work.wait()
results = [None] * n
dist.all_gather_object(results, from_left.item())
if rank == 0:
    print("from the left:", *results)
dist.destroy_process_group()
