# Prints the golden numbers of optimizer_test.cpp: PyTorch (1.13.1 here), float64, printed
# with 17 digits. Run: python3 tests/optim/golden.py
import torch

torch.set_default_dtype(torch.float64)


def show(name, tensor):
    print(name, ", ".join(f"{x:.17g}" for x in tensor.detach().flatten().tolist()))


def steps(make, count=4):
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    optimizer = make([p])
    for k in range(count):
        p.grad = torch.tensor([0.1, -0.2, 0.3]) * (k + 1) + 0.25 * p.detach()
        optimizer.step()
    return p


show("sgd", steps(lambda p: torch.optim.SGD(p, lr=0.1)))
show("sgd momentum", steps(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))
show("sgd momentum decay",
     steps(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)))
show("adam", steps(lambda p: torch.optim.Adam(p, lr=0.01)))
show("adam betas", steps(lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-4)))

a, b = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
a.grad, b.grad = torch.tensor([3.0, -4.0]), torch.tensor([12.0, 0.0])
print("norm", torch.nn.utils.clip_grad_norm_([a, b], 2.0).item())
show("clipped", torch.cat([a.grad, b.grad]))
