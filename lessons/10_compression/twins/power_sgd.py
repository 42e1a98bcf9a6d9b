# torchrun --nproc-per-node 2 lessons/10_compression/twins/power_sgd.py
import torch, torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

dist.init_process_group("gloo")
torch.manual_seed(0)
inputs = torch.randn(64, 4) @ torch.randn(4, 32)  # so the gradient's rank is 4
targets = inputs @ torch.randn(32, 24) * (1 + dist.get_rank())

def mean_gradient(steps, **options):
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 24, bias=False))
    if options:
        state = PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2, **options)
        ddp.register_comm_hook(state, powerSGD_hook)
    total = torch.zeros(24, 32)
    for step in range(2 + steps):
        ddp.zero_grad()
        (ddp(inputs) * targets).sum().backward()  # the same gradient in every step
        if step >= 2: total += ddp.module.weight.grad
    return total / steps

mean = mean_gradient(1)  # without a hook
for feedback, warm in (True, True), (False, True), (False, False):
    errors = [
        (mean_gradient(steps, use_error_feedback=feedback, warm_start=warm) - mean).norm()
        / mean.norm() for steps in (1, 5, 25)
    ]
    if dist.get_rank() == 0:
        print(f"feedback {feedback}, warm start {warm}:", *(f"{100 * error:.0f} %" for error in errors))
try:
    PowerSGDState(None, start_powerSGD_iter=1)
except ValueError as error:
    if dist.get_rank() == 0: print(str(error)[:42], "…")
dist.destroy_process_group()
