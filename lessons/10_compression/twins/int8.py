# torchrun --nproc-per-node 2 lessons/10_compression/twins/int8.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
mine = torch.tensor([[1.27, -0.50, 0.01], [12.7, 3.0, 0.04]])[dist.get_rank()]
scale = mine.abs().max() / 127
codes = (mine / scale).round().to(torch.int8)

added = codes.clone()
dist.all_reduce(added)  # 8-bit integers, of two different scales
dist.all_gather_object(all_ranks := [None, None], (codes, scale))
if dist.get_rank() == 0:
    for rank, (codes, scale) in enumerate(all_ranks):
        print(f"rank {rank}: {codes.tolist()} times {scale:.2f}")
    print("integers added:     ", added.tolist())
    right = sum(codes * scale for codes, scale in all_ranks)
    print("decoded, then added:", [round(value, 2) for value in right.tolist()])
dist.destroy_process_group()
