# torchrun --nproc-per-node 3 lessons/03_collectives/twins/eight.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
mine = torch.tensor([1, 2, 3]) + 3 * rank

def show(name, result):
    dist.all_gather_object(results := [None] * 3, str(result.tolist()).replace(" ", ""))
    if rank == 0:
        print(f"{name:24}", *results)

show("brought", mine)
dist.broadcast(out := mine.clone(), src=0); show("broadcast", out)
ones = list(mine.split(1)) if rank == 0 else None
dist.scatter(out := mine[:1].clone(), ones); show("scatter", out)
parts = [torch.zeros_like(mine) for _ in range(3)] if rank == 0 else None
dist.gather(mine, parts); show("gather", torch.cat(parts) if rank == 0 else mine)
dist.all_gather_into_tensor(out := mine.new_empty(9), mine); show("all_gather_into_tensor", out)
dist.reduce(out := mine.clone(), dst=0); show("reduce", out)
dist.all_reduce(out := mine.clone()); show("all_reduce", out)
dist.reduce_scatter_tensor(out := mine.new_empty(1), mine); show("reduce_scatter_tensor", out)
dist.all_to_all_single(out := mine.clone(), mine); show("all_to_all_single", out)
dist.barrier()
dist.destroy_process_group()
