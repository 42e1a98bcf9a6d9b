#!/usr/bin/env python3
"""Writes what PyTorch computes into expected/*.safetensors, which parity_test.cpp compares with.

    python3 tests/parity/expected.py        needs torch, numpy and safetensors

Inputs are float32 numbers, so that both element types start from equal values; outputs and
gradients are float64, PyTorch's on the CPU. A tensor is called operation/case/name:

    gelu_tanh/odd/x        an input
    gelu_tanh/odd/y        the output
    gelu_tanh/odd/grad_y   what flows back into the output, an input of the comparison too
    gelu_tanh/odd/grad_x   the gradient of x
    gelu_tanh/odd/float32  how far PyTorch's own float32 is from y, grad_x, … (in order of their
                           names): largest difference, divided by the tensor's largest value

The same script and the same release of PyTorch write the same files.
"""
import pathlib
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent / "expected"


def random_of(name):
    """A generator of its own for every case, so that a new case changes no other."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(random, *shape, scale=1.0, shift=0.0):
    return torch.from_numpy((random.standard_normal(shape) * scale + shift).astype(np.float32))


def relative(seen, truth):
    """The largest difference over the largest value: an element that is the small rest of large
    terms has no accuracy of its own. Where a tensor is zero but for rounding (the gradient of a
    normalised row of one element), its terms are some 1/√ε = 316 large, and that is the measure."""
    largest = truth.abs().max().item()
    return (seen.double() - truth).abs().max().item() / (largest if largest > 1e-9 else 316)


def leaves_of(tensors, dtype):
    return {k: v.detach().clone().to(dtype).requires_grad_() for k, v in tensors.items()}


class Group:
    """One file."""

    def __init__(self, name):
        self.name, self.tensors = name, {}

    def put(self, name, tensor):
        self.tensors[name] = np.ascontiguousarray(tensor.detach().numpy())

    def case(self, operation, case, function, inputs, constants=None):
        """function(**inputs, **constants) forward and backward, in float64 and in float32."""
        path = f"{operation}/{case}"
        constants = constants or {}
        grad_y = None
        results = {}
        for dtype in (torch.float64, torch.float32):
            leaves = leaves_of(inputs, dtype)
            y = function(**leaves, **constants)
            if grad_y is None:
                grad_y = normal(random_of(path + "/grad_y"), *y.shape)
            gradients = torch.autograd.grad(y, list(leaves.values()), grad_y.to(dtype))
            results[dtype] = {"y": y} | {f"grad_{k}": g for k, g in zip(leaves, gradients)}
        for name, tensor in inputs.items():
            self.put(f"{path}/{name}", tensor)
        for name, tensor in constants.items():
            self.put(f"{path}/{name}", torch.as_tensor(np.atleast_1d(tensor)))
        self.put(f"{path}/grad_y", grad_y)
        truth = results[torch.float64]
        for name, tensor in truth.items():
            self.put(f"{path}/{name}", tensor)
        self.put(f"{path}/float32", torch.tensor(
            [relative(results[torch.float32][k], truth[k]) for k in sorted(truth)],
            dtype=torch.float64))

    def save(self):
        save_file(self.tensors, HERE / f"{self.name}.safetensors", {"pytorch": torch.__version__})


def elementwise():
    group = Group("elementwise")
    functions = {
        "relu": F.relu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "gelu_erf": F.gelu,
        "silu": F.silu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
    }
    border = torch.tensor([-80, -30, -11, -5, -1, -1e-3, -1e-20, -0.0, 0.0, 1e-20, 1e-3, 1, 5, 11,
                           30, 80], dtype=torch.float32)
    for name, function in functions.items():
        for case, x in {
            "one": normal(random_of(name + "one"), 1),
            "odd": normal(random_of(name + "odd"), 3, 7, scale=2),
            "long": normal(random_of(name + "long"), 67, scale=4),
            # ReLU has no derivative at 0; where the sign of a zero decides, nothing is asserted.
            "border": border[border != 0] if name == "relu" else border,
        }.items():
            group.case(name, case, lambda x: function(x), {"x": x})
    shapes = {
        "same": ((3, 7), (3, 7)),
        "row": ((5, 7), (7,)),
        "column": ((5, 7), (5, 1)),
        "one": ((2, 3, 5), (1,)),
        "middle": ((3, 1, 5), (4, 1)),
        "batch": ((2, 5, 9), (5, 9)),
    }
    for name, function in {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul}.items():
        for case, (left, right) in shapes.items():
            random = random_of(name + case)
            group.case(name, case, lambda a, b: function(a, b),
                       {"a": normal(random, *left), "b": normal(random, *right)})
    random = random_of("scale")
    group.case("scale", "odd", lambda x, factor: x * factor, {"x": normal(random, 3, 7)},
               {"factor": 0.37})
    for case, shape in {"one": (1,), "odd": (3, 7), "long": (11, 23)}.items():
        random = random_of("sum" + case)
        group.case("sum", case, lambda x: x.sum().reshape(1), {"x": normal(random, *shape)})
        group.case("mean", case, lambda x: x.mean().reshape(1), {"x": normal(random, *shape)})
    group.save()


def products():
    group = Group("products")
    for case, (rows, i, o) in {
        "one": ((1,), 1, 1),
        "row": ((1,), 7, 3),
        "odd": ((5,), 7, 3),
        "wide": ((3,), 17, 19),
        "tokens": ((2, 5), 9, 6),
        "long_sum": ((2,), 301, 1),
    }.items():
        random = random_of("linear" + case)
        x, weight, bias = normal(random, *rows, i), normal(random, o, i), normal(random, o)
        group.case("linear", case, lambda x, weight, bias: F.linear(x, weight, bias),
                   {"x": x, "weight": weight, "bias": bias})
        if case in ("odd", "tokens"):
            group.case("linear_no_bias", case, lambda x, weight: F.linear(x, weight),
                       {"x": x, "weight": weight})
    for case, (m, k, n) in {"one": (1, 1, 1), "odd": (5, 7, 3), "row": (1, 33, 9),
                            "column": (9, 33, 1)}.items():
        random = random_of("matmul" + case)
        group.case("matmul", case, lambda a, b: a @ b,
                   {"a": normal(random, m, k), "b": normal(random, k, n)})
    random = random_of("transpose")
    group.case("transpose", "odd", lambda x: x.t().contiguous(), {"x": normal(random, 5, 7)})
    random = random_of("narrow")
    group.case("narrow", "odd", lambda x: x.narrow(1, 2, 3), {"x": normal(random, 3, 7)})
    group.case("concatenate", "odd", lambda a, b: torch.cat([a, b], 1),
               {"a": normal(random, 3, 4), "b": normal(random, 3, 1)})
    random = random_of("embedding")
    tokens = torch.tensor([[0, 6, 3, 3, 3], [3, 0, 1, 6, 0]])
    group.case("embedding", "repeated", lambda weight, tokens: F.embedding(tokens, weight),
               {"weight": normal(random, 7, 5)}, {"tokens": tokens})
    group.case("embedding", "one", lambda weight, tokens: F.embedding(tokens, weight),
               {"weight": normal(random, 1, 1)}, {"tokens": torch.tensor([[0]])})
    group.save()


def rows():
    """What works along the last axis."""
    group = Group("rows")
    for case, x in {
        "one": normal(random_of("rows one"), 3, 1),
        "odd": normal(random_of("rows odd"), 5, 7),
        "wide": normal(random_of("rows wide"), 2, 67),
        "tokens": normal(random_of("rows tokens"), 2, 3, 5),
        "large": normal(random_of("rows large"), 2, 19, scale=40).clamp(-80, 80),
        "tiny": normal(random_of("rows tiny"), 2, 19, scale=1e-6),
        "equal": torch.full((2, 9), 3.25),
        "shifted": normal(random_of("rows shifted"), 2, 19, shift=50),
    }.items():
        width = x.shape[-1]
        random = random_of("affine" + case)
        weight, bias = normal(random, width, shift=1), normal(random, width)
        group.case("softmax", case, lambda x: x.softmax(-1), {"x": x})
        group.case("layer_norm", case,
                   lambda x, weight, bias: F.layer_norm(x, (width,), weight, bias, 1e-5),
                   {"x": x, "weight": weight, "bias": bias})
        # Of one element all but ε cancels in x's gradient, so x is about √ε there.
        group.case("rms_norm", case, lambda x, weight: F.rms_norm(x, (width,), weight, 1e-6),
                   {"x": x * 1e-3 if case == "one" else x, "weight": weight})
    for case, (logits, labels) in {
        "one": (normal(random_of("ce one"), 1, 1), [0]),
        "odd": (normal(random_of("ce odd"), 5, 7), [0, 6, 3, 3, 1]),
        "wide": (normal(random_of("ce wide"), 3, 67, scale=3), [66, 0, 32]),
        "ignored": (normal(random_of("ce ignored"), 5, 7), [-100, 6, -100, 0, 2]),
        "large": (normal(random_of("ce large"), 4, 19, scale=40).clamp(-80, 80), [0, 18, 5, 7]),
        "huge": (torch.tensor([[1e4, 0, -1e4], [-1e4, 1e4, 1e4], [1e4, 9999, 9998]]), [0, 2, 1]),
    }.items():
        for reduction in ("mean", "sum"):
            group.case(f"cross_entropy_{reduction}", case,
                       lambda logits, labels: F.cross_entropy(
                           logits, labels, reduction=reduction).reshape(1),
                       {"logits": logits}, {"labels": torch.tensor(labels)})
    group.save()


def heads_apart(qkv, heads):
    """[B, T, 3·C] → three times [B, H, T, C/H]; q, k and v stand side by side, heads within."""
    b, t, c3 = qkv.shape
    return qkv.view(b, t, 3, heads, c3 // 3 // heads).permute(2, 0, 3, 1, 4)


def causal_attention(qkv, heads):
    q, k, v = heads_apart(qkv, heads)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return y.transpose(1, 2).reshape(qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3)


def attention():
    group = Group("attention")
    for case, (b, t, h, size, scale) in {
        "one_token": (2, 1, 4, 8, 1),
        "short": (1, 5, 4, 4, 1),
        "sharp": (1, 5, 2, 4, 9),
        "wide_head": (1, 5, 1, 32, 1),
        "block": (1, 64, 1, 4, 1),
        "over_a_block": (1, 100, 1, 4, 1),
    }.items():
        random = random_of("attention" + case)
        group.case("attention", case, causal_attention,
                   {"qkv": normal(random, b, t, 3 * h * size, scale=scale)}, {"heads": h})
    group.save()


SGD = {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}
ADAMW = {"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, **SGD),
              "adamw": lambda p: torch.optim.AdamW(p, **ADAMW)}
STEPS = 10


def gradients_of(loss_of, weights, dtype):
    leaves = leaves_of(weights, dtype)
    loss = loss_of(leaves, 0)
    return loss, dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()))))


def train(loss_of, weights, optimizer, dtype):
    """The loss of every step before its update, and the weights after the last."""
    leaves = leaves_of(weights, dtype)
    update = OPTIMIZERS[optimizer](list(leaves.values()))
    losses = []
    for step in range(STEPS):
        update.zero_grad()
        loss = loss_of(leaves, step)
        loss.backward()
        update.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64), leaves


def put_training(group, path, loss_of, weights):
    """The first step's loss and gradients, and the losses of ten steps."""
    loss, gradients = gradients_of(loss_of, weights, torch.float64)
    loss32, gradients32 = gradients_of(loss_of, weights, torch.float32)
    group.put(f"{path}/loss", loss.reshape(1))
    group.put(f"{path}/loss/float32", torch.tensor([relative(loss32, loss)], dtype=torch.float64))
    for name, gradient in gradients.items():
        group.put(f"{path}/grad/{name}", digest(gradient))
    group.put(f"{path}/grad/float32", torch.tensor(
        [relative(digest(gradients32[k]), digest(gradients[k])) for k in sorted(gradients)], dtype=torch.float64))
    for optimizer in OPTIMIZERS:
        losses, _ = train(loss_of, weights, optimizer, torch.float64)
        losses32, _ = train(loss_of, weights, optimizer, torch.float32)
        group.put(f"{path}/{optimizer}/losses", losses)
        group.put(f"{path}/{optimizer}/float32", ((losses32 - losses).abs() / losses.abs().max()))


def mlp():
    group = Group("mlp")
    random = random_of("mlp")
    widths = (7, 16, 16, 3)
    weights = {}
    for layer, (i, o) in enumerate(zip(widths, widths[1:])):
        weights[f"{layer}.weight"] = normal(random, o, i, scale=i ** -0.5)
        weights[f"{layer}.bias"] = normal(random, o, scale=0.1)
    x = normal(random, STEPS, 13, widths[0])
    labels = torch.from_numpy(random.integers(0, widths[-1], (STEPS, 13)))

    def loss_of(w, step):
        h = x[step].to(w["0.weight"].dtype)
        for layer in range(3):
            h = F.linear(F.relu(h) if layer else h, w[f"{layer}.weight"], w[f"{layer}.bias"])
        return F.cross_entropy(h, labels[step])

    group.put("x", x)
    group.put("labels", labels)
    for name, tensor in weights.items():
        group.put(f"weights/{name}", tensor)
    put_training(group, "mlp", loss_of, weights)
    group.save()


LAYERS, WIDTH, HEADS, TOKENS, VOCABULARY, BATCH = 2, 32, 4, 12, 40, 3


def gpt_weights():
    random = random_of("gpt")
    weights = {"wte.weight": normal(random, VOCABULARY, WIDTH, scale=0.3),
               "wpe.weight": normal(random, TOKENS, WIDTH, scale=0.3)}

    def norm(name):
        weights[f"{name}.weight"] = normal(random, WIDTH, scale=0.2, shift=1)
        weights[f"{name}.bias"] = normal(random, WIDTH, scale=0.1)

    def linear(name, o, i):
        weights[f"{name}.weight"] = normal(random, o, i, scale=i ** -0.5)
        weights[f"{name}.bias"] = normal(random, o, scale=0.1)

    for layer in range(LAYERS):
        norm(f"h.{layer}.ln_1")
        linear(f"h.{layer}.attn.c_attn", 3 * WIDTH, WIDTH)
        linear(f"h.{layer}.attn.c_proj", WIDTH, WIDTH)
        norm(f"h.{layer}.ln_2")
        linear(f"h.{layer}.mlp.c_fc", 4 * WIDTH, WIDTH)
        linear(f"h.{layer}.mlp.c_proj", WIDTH, 4 * WIDTH)
    norm("ln_f")
    weights["lm_head.weight"] = normal(random, VOCABULARY, WIDTH, scale=WIDTH ** -0.5)
    return weights


def gpt_logits(w, tokens):
    """GPT-2: pre-norm blocks, learned positions, biases everywhere but in the head."""
    def linear(name, x):
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(name, x):
        return F.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    x = w["wte.weight"][tokens] + w["wpe.weight"][: tokens.shape[1]]
    for layer in range(LAYERS):
        h = f"h.{layer}"
        x = x + linear(f"{h}.attn.c_proj",
                       causal_attention(linear(f"{h}.attn.c_attn", norm(f"{h}.ln_1", x)), HEADS))
        x = x + linear(f"{h}.mlp.c_proj",
                       F.gelu(linear(f"{h}.mlp.c_fc", norm(f"{h}.ln_2", x)), approximate="tanh"))
    return norm("ln_f", x) @ w.get("lm_head.weight", w["wte.weight"]).t()


def digest(gradient):
    """Of large matrices the sums of rows and of columns, which take little room."""
    if gradient.numel() < 1000:
        return gradient
    return torch.cat([gradient.sum(1), gradient.sum(0)])


def gpt():
    group = Group("gpt")
    weights = gpt_weights()
    tokens = torch.from_numpy(random_of("tokens").integers(0, VOCABULARY,
                                                           (STEPS, BATCH, TOKENS + 1)))

    def loss_of(w, step):
        logits = gpt_logits(w, tokens[step, :, :-1])
        return F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[step, :, 1:].reshape(-1))

    group.put("tokens", tokens)
    for name, tensor in weights.items():
        group.put(f"weights/{name}", tensor)
    put_training(group, "untied", loss_of, weights)
    tied = {k: v for k, v in weights.items() if k != "lm_head.weight"}
    put_training(group, "tied", loss_of, tied)
    group.save()


if __name__ == "__main__":
    torch.set_num_threads(1)
    HERE.mkdir(exist_ok=True)
    for write in (elementwise, products, rows, attention, mlp, gpt):
        write()
