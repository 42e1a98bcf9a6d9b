# torchrun --nproc-per-node 2 lessons/08_horovod/twins/orders.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
ready = ["weight", "bias"] if rank == 0 else ["bias", "weight"]  # another order on each rank

def gradients():
    return {"weight": torch.tensor([1.0 + rank]), "bias": torch.tensor([10.0 + rank])}

def negotiated(names):  # the same order on all ranks: rank 0's, of what all ranks have
    dist.gather_object(names, told := [None] * size if rank == 0 else None)
    common = [n for n in told[0] if all(n in of_rank for of_rank in told)] if rank == 0 else None
    dist.broadcast_object_list(order := [common])
    return order[0]

for order_of, said in (list, "own order"), (negotiated, "negotiated"):
    grads = gradients()
    for name in order_of(ready):
        dist.all_reduce(grads[name])
    if rank == 0:
        print(f"{said}: ", {name: grad.item() for name, grad in grads.items()})
dist.destroy_process_group()
