# torchrun --nproc-per-node 4 lessons/06_all_reduce/twins/two_levels.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()  # ranks 0 and 1 play one node, ranks 2 and 3 the other
in_node, _ = dist.new_subgroups_by_enumeration([[0, 1], [2, 3]])
across, _ = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])

data = torch.arange(1, 7) * 10**rank  # rank 0: 1 2 3 4 5 6, rank 1: 10 20 …
flat = data.clone()
dist.all_reduce(flat)

shard = data.new_empty(3)
dist.reduce_scatter_tensor(shard, data, group=in_node)
dist.all_reduce(shard, group=across)
dist.all_gather_into_tensor(data, shard, group=in_node)

results = [None] * 4
dist.all_gather_object(results, (shard.tolist(), torch.equal(data, flat)))
if rank == 0:
    print(data.tolist())
    for shard_of_rank, same in results:
        print("shard", shard_of_rank, "same as all_reduce:", same)
dist.destroy_process_group()
