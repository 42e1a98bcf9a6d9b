# torchrun --nproc-per-node 2 lessons/14_expert_parallel/twins/dispatch.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, ranks, experts = dist.get_rank(), dist.get_world_size(), 4
torch.manual_seed(3 + rank)
tokens = torch.randn(6, 3)
weight, expert = torch.randn(6, experts).softmax(1).max(1)  # one choice for each token
order = expert.argsort(stable=True)  # rows by expert

sent = expert.bincount(minlength=experts)
came = torch.empty_like(sent)
dist.all_to_all_single(came, sent)  # the counts go first
to, from_ = (c.view(ranks, -1).sum(1).tolist() for c in (sent, came))
rows = tokens.new_empty(sum(from_), 3)
dist.all_to_all_single(rows, tokens[order], from_, to)
number = torch.arange(experts // ranks).repeat(ranks).repeat_interleave(came)
done = rows * (1 + rank * (experts // ranks) + number)[:, None]  # expert e multiplies by 1 + e
back = torch.empty_like(tokens)
dist.all_to_all_single(back, done, to, from_)
result = torch.empty_like(tokens)
result[order] = back * weight[order, None]

right = torch.equal(result, tokens * (1 + expert)[:, None] * weight[:, None])
seen = [None] * ranks
dist.all_gather_object(seen, (sent.tolist(), to, from_, right))
if rank == 0:
    for r, (sent, to, from_, right) in enumerate(seen):
        print(f"rank {r}: rows for experts {sent}, to ranks {to}, from ranks {from_}, right: {right}")
dist.destroy_process_group()
