# Prints the golden numbers of tests/optim: PyTorch 2.15.0, float64 unless said otherwise, with all
# their digits. Run: python3 tests/optim/golden.py
import torch


def show(name, numbers):
    print(f"{name}:", ", ".join(f"{x:.17g}" for x in numbers))


def gradient(k, p):
    return torch.tensor([0.1, -0.2, 0.3], dtype=p.dtype) * (k + 1) + 0.25 * p.detach()


def steps(make, count=4, dtype=torch.float64):
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=dtype))
    optimizer = make([p])
    for k in range(count):
        p.grad = gradient(k, p)
        optimizer.step()
    return p.detach().tolist()


def both(name, make):
    show(name, steps(make))
    show(name + " float32", steps(make, dtype=torch.float32))


optim = torch.optim
both("sgd", lambda p: optim.SGD(p, lr=0.1))
both("momentum", lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
both("momentum decay", lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01))
both("nesterov decay",
     lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True))
both("adam", lambda p: optim.Adam(p, lr=0.01))
both("adam betas", lambda p: optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4))
both("adam decay", lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1))
both("adam low beta", lambda p: optim.Adam(p, lr=0.01, betas=(0.25, 0.95)))
both("adamw", lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1))

a = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
b = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
for bound in [2.0, 13.0]:
    a.grad = torch.tensor([3.0, -4.0], dtype=torch.float64)
    b.grad = torch.tensor([12.0, 0.0], dtype=torch.float64)
    show(f"norm, bound {bound}", [torch.nn.utils.clip_grad_norm_([a, b], bound).item()])
    show("clipped", torch.cat([a.grad, b.grad]).tolist())

# The scale after each update; overflows at the steps marked.
p = torch.nn.Parameter(torch.zeros(1))
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
sgd = optim.SGD([p], lr=0.1)
scales = []
for overflow in [0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]:
    scaler.scale(p.sum()).backward()
    p.grad = torch.tensor([float("inf") if overflow else 1.0])
    scaler.step(sgd)
    scaler.update()
    scales.append(scaler.get_scale())
show("scales", scales)

# One linear and one cosine decay, ten steps after three of warm-up.
p = torch.nn.Parameter(torch.zeros(1))
for name, make in [
    ("linear", lambda o: optim.lr_scheduler.LinearLR(o, 1.0, 0.1, 10)),
    ("cosine", lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 10, 0.04)),
]:
    sgd = optim.SGD([p], lr=0.4)
    warmup = optim.lr_scheduler.LinearLR(sgd, 1 / 3, 1.0, 2)
    decay = optim.lr_scheduler.SequentialLR(sgd, [warmup, make(sgd)], [3])
    rates = []
    for _ in range(14):
        rates.append(sgd.param_groups[0]["lr"])
        sgd.step()
        decay.step()
    show(name, rates)
