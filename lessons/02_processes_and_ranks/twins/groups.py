# torchrun --nproc-per-node 4 lessons/02_processes_and_ranks/twins/groups.py
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]  # both calls, on all four ranks
mine = groups[rank // 2]
total = torch.tensor(rank)
dist.all_reduce(total, group=mine)
dist.all_gather_object(lines := [None] * 4, f"rank {rank} is {mine.rank()} of its group, sum {total}")
if rank == 0:
    print("\n".join(lines))
dist.destroy_process_group()
