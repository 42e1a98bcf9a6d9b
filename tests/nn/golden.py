# Prints the golden numbers of mlp_test.cpp: PyTorch (1.13.1 here), float64, printed with 17 digits.
# Run: python3 tests/nn/golden.py
import torch

torch.set_default_dtype(torch.float64)


def show(name, tensor):
    print(name, ", ".join(f"{x:.17g}" for x in tensor.detach().flatten().tolist()))


# An MLP 3-4-2 with weights k/10 in a fixed pattern.
pattern = lambda *shape: ((torch.arange(torch.tensor(shape).prod()) * 7 % 11 - 5.0) / 10).reshape(shape)
w0, b0, w1, b1 = [torch.nn.Parameter(pattern(*s)) for s in ((4, 3), (4,), (2, 4), (2,))]
x = pattern(5, 3)
y = torch.tensor([0, 1, 1, 0, 1])
loss = torch.nn.functional.cross_entropy(torch.relu(x @ w0.T + b0) @ w1.T + b1, y)
loss.backward()
show("mlp loss", loss)
for name, p in (("0.weight", w0), ("0.bias", b0), ("1.weight", w1), ("1.bias", b1)):
    show(name, p.grad)
