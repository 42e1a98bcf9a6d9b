# torchrun --nproc-per-node 4 lessons/15_sequence_parallel/twins/ring.py
import torch, torch.distributed as dist
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.experimental._context_parallel import _attention as cp

dist.init_process_group("gloo")
rank = dist.get_rank()
cp._cp_options.convert_to_f32 = cp._cp_options.enable_load_balance = False
attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 2, 32, 8, dtype=torch.float64)  # batch, heads, tokens, size of a head
expected = attend(q, k, v, is_causal=True)[0].chunk(4, dim=2)[rank]
mine = [x.chunk(4, dim=2)[rank] for x in (q, k, v)]
for method in ("allgather", "alltoall"):  # the default, and a ring
    cp.set_rotate_method(method)
    with CommDebugMode() as counted:
        out, _ = cp._templated_ring_attention(dist.group.WORLD, 2, attend, *mine, is_causal=True)
    worst = (out - expected).abs().max()
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    if rank == 0:
        counts = {str(op).split(".")[-1]: n for op, n in counted.get_comm_counts().items()}
        print(f"{method}: {counts}, as on one device: {worst.item() < 1e-14}")
dist.destroy_process_group()
