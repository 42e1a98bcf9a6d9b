# torchrun --nproc-per-node 2 lessons/08_horovod/twins/optimizer.py
import torch, torch.distributed as dist

class Distributed:  # wraps an optimizer, not the model
    def __init__(self, optimizer, passes=1):
        self.optimizer, self.passes, self.works = optimizer, passes, []
        self.left = {}  # passes until a parameter's gradient is sent
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.left[parameter] = passes
                parameter.register_post_accumulate_grad_hook(self.on_gradient)

    def on_gradient(self, parameter):
        assert self.left[parameter] > 0, "more passes than backward_passes_per_step"
        self.left[parameter] -= 1
        if self.left[parameter] == 0:
            self.works.append((dist.all_reduce(parameter.grad, async_op=True), parameter))

    def step(self):
        for work, parameter in self.works:
            work.wait()
            parameter.grad /= dist.get_world_size()
        self.works, self.left = [], dict.fromkeys(self.left, self.passes)
        self.optimizer.step()

dist.init_process_group("gloo")
rank = dist.get_rank()
for passes in 1, 2:
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = Distributed(torch.optim.SGD([w], lr=1.0), passes)
    for batch in range(passes):
        (w * (1 + rank + 10 * batch)).sum().backward()  # gradients 1 and 2, then 11 and 12
    optimizer.step()
    if rank == 0:
        print(f"{passes} passes: the gradient is {w.grad.item()}, w is {w.item()}")
dist.destroy_process_group()
