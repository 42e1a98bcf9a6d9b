# torchrun --nproc-per-node 2 lessons/13_pipeline_parallel/twins/pipelining.py
import torch, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.functional import mse_loss

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
layers = [torch.nn.Linear(8, 8) for _ in range(4)]
whole, mine = torch.nn.Sequential(*layers), torch.nn.Sequential(*layers[2 * rank : 2 * rank + 2])
x, y = torch.randn(12, 8), torch.randn(12, 8)
mse_loss(whole(x), y).backward()  # what one device computes
expected = [p.grad.clone() for p in mine.parameters()]
whole.zero_grad()

stage = PipelineStage(mine, stage_index=rank, num_stages=2, device=torch.device("cpu"))
schedule = Schedule1F1B(stage, n_microbatches=3, loss_fn=mse_loss)
losses = []
if rank == 0:
    schedule.step(x)  # the first stage has the inputs
else:
    schedule.step(target=y, losses=losses)  # the last one has the labels
same = all(torch.allclose(p.grad, g) for p, g in zip(mine.parameters(), expected))
dist.all_gather_object(results := [None, None], (len(losses), same))
if rank == 0:
    for stage, (count, same) in enumerate(results):
        print(f"stage {stage}: {count} losses, gradients of one device: {same}")
dist.destroy_process_group()
