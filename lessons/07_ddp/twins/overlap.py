# torchrun --nproc-per-node 2 lessons/07_ddp/twins/overlap.py
import torch, torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
names = {p: name for name, p in model.named_parameters()}
started, works = [], []

def send(parameter):  # called during backward, as soon as this gradient is final
    started.append(names[parameter])
    parameter.grad /= dist.get_world_size()
    works.append(dist.all_reduce(parameter.grad, async_op=True))

for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(send)
torch.manual_seed(1 + dist.get_rank())  # other samples on each rank
model(torch.randn(32, 8)).square().mean().backward()
for work in works:
    work.wait()
if dist.get_rank() == 0:
    print("registered:", *names.values())
    print("sent:      ", *started)
dist.destroy_process_group()
