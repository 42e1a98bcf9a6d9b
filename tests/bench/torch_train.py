#!/usr/bin/env python3
"""The PyTorch side of ./lab bench train: one process, one thread, one model; it trains on a fixed
batch and prints one JSON object. engine/apps/bench_train.cpp is the other side: equal models, equal
first weights and equal batches (numbers() below), hence equal losses but for rounding. Started by
the launcher, with --meet, it is one rank of DistributedDataParallel over Gloo, of fully_shard
(FSDP2) with --way fsdp, or of parallelize_module with --way tp, and rank 0 prints.

    torch_train.py --model mlp|gpt-small|gpt [--steps K] [--repetitions R] [--warmup W]
                   [--products mkl|mkl-as-intel|onednn] [--compile] [--meet FILE] [--way ddp|fsdp|tp]
                   [--device cpu|cuda] [--dtype float32|bfloat16]
    torch_train.py --model M --fastest     the variant that is fastest on this machine

PyTorch leaves float32 products on the CPU to MKL, which runs at half its speed on processors that
are not Intel's. Two ways out are tried:
    onednn        its oneDNN multiplies instead, by the operation that its compiler uses for frozen
                  layers, in an autograd function of ours
    mkl-as-intel  MKL asks a function of its own whether the processor is Intel's; one that says yes
                  is put before it (needs a C compiler)
torch.compile is no part of the trial: it takes half a minute, and never was the fastest.
"""
import argparse
import contextlib
import ctypes
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Optional


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "gpt-small", "gpt", "gpt-124m"], required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--products", choices=["mkl", "mkl-as-intel", "onednn"], default="mkl")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--meet", help="a new file in which the ranks meet")
    parser.add_argument("--way", choices=["ddp", "fsdp", "tp"], default="ddp")
    parser.add_argument("--fastest", action="store_true")
    return parser.parse_args()


def claim_intel():
    """Before PyTorch is loaded: the first definition of a name is the one that is used."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "claim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True,
                       text=True, input="int mkl_serv_intel_cpu_true(void) { return 1; }\n"
                                        "int mkl_serv_intel_cpu(void) { return 1; }\n")
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


ARGUMENTS = options()
CLAIM_BEGAN = time.monotonic()
if ARGUMENTS.products == "mkl-as-intel" and not ARGUMENTS.fastest:
    claim_intel()
CLAIM_S = time.monotonic() - CLAIM_BEGAN  # not counted: a user would keep the library

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist

RANK = int(os.environ["RANK"]) if ARGUMENTS.meet else 0
RANKS = int(os.environ["WORLD_SIZE"]) if ARGUMENTS.meet else 1

VARIANTS = ["mkl", "mkl-as-intel", "onednn"]


def mix(z):
    """SplitMix64's mixer on int64, whose products wrap; a shift right brings no sign along."""
    z = (z ^ ((z >> 30) & (2 ** 34 - 1))) * (0xBF58476D1CE4E5B9 - 2 ** 64)
    z = (z ^ ((z >> 27) & (2 ** 37 - 1))) * (0x94D049BB133111EB - 2 ** 64)
    return z ^ ((z >> 31) & (2 ** 33 - 1))


def numbers(name, count):
    """The first `count` numbers in [0, 1) of the stream `name`, as float64: random_uniform() of
    engine/base/random.hpp over the FNV-1a sum of the name."""
    stream = 0xCBF29CE484222325
    for byte in name.encode():
        stream = (stream ^ byte) * 0x100000001B3 % 2 ** 64
    golden = 0x9E3779B97F4A7C15
    wrapped = (stream + golden) % 2 ** 64
    seed = mix(torch.tensor(wrapped - 2 ** 64 if wrapped >= 2 ** 63 else wrapped))
    bits = mix(seed + (torch.arange(count) + 1) * (golden - 2 ** 64))
    return ((bits >> 11) & (2 ** 53 - 1)).double() * 2.0 ** -53


def product(a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    """a [M, K] · bᵀ + bias, with b [N, K]."""
    return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")


# The compiler takes the operation only with constant weights, unless it cannot see into it.
opaque_product = torch.library.custom_op("lockstep::product", product, mutates_args=())
opaque_product.register_fake(lambda a, b, bias: a.new_empty(a.shape[0], b.shape[0]))


class OneDnnLinear(torch.autograd.Function):
    product = staticmethod(product)

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return OneDnnLinear.product(x.reshape(-1, x.shape[-1]), weight, bias).view(
            *x.shape[:-1], weight.shape[0])

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        grad_x = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = OneDnnLinear.product(rows, weight.t(), None).view(x.shape)
        grad_weight = OneDnnLinear.product(rows.t(), x.reshape(-1, x.shape[-1]).t(),
                                           None)
        if ctx.has_bias:
            grad_bias = rows.sum(0)
        return grad_x, grad_weight, grad_bias


class Linear(nn.Linear):
    products = "mkl"

    def forward(self, x):
        if Linear.products != "onednn":
            return F.linear(x, self.weight, self.bias)
        if hasattr(self.weight, "placements"):
            return split_product(x, self.weight, self.bias)
        return OneDnnLinear.apply(x, self.weight, self.bias)


def split_product(x, weight, bias):
    """F.linear of DTensors, which know no rule for an operation of ours: by columns if the weight
    is split by rows, otherwise a sum over the ranks."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
    mesh = weight.device_mesh
    if weight.placements[0] == Shard(0):
        y = OneDnnLinear.apply(x.to_local(grad_placements=[Partial()]), weight.to_local(),
                               None if bias is None else bias.to_local())
        return DTensor.from_local(y, mesh, [Shard(-1)], run_check=False)
    y = OneDnnLinear.apply(x.to_local(), weight.to_local(), None)
    y = DTensor.from_local(y, mesh, [Partial()], run_check=False)
    return y.redistribute(placements=[Replicate()]) + bias


class Mlp(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        for layer, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            self.add_module(str(layer), Linear(inputs, outputs))

    def forward(self, x):
        for layer, module in enumerate(self.children()):
            x = module(F.relu(x) if layer else x)
        return x


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.of_head = width // heads
        self.c_attn = Linear(width, 3 * width)
        self.c_proj = Linear(width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.c_attn(x).view(b, t, 3, -1, self.of_head).unbind(2)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2),
                                           v.transpose(1, 2), is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = Linear(width, 4 * width)
        self.c_proj = Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, tokens, vocabulary, tied):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = Linear(width, vocabulary, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def set_weights(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.fill_(1.0 if name.endswith("weight") else 0.0)
            else:
                bound = 1 / math.sqrt(p.shape[1])
                p.copy_(((2 * numbers(name, p.numel()) - 1) * bound).view(p.shape))


def of_rank(name):
    """The stream of this rank's batch; rank 0's is that of a single process, and of all ranks that
    share layers."""
    return f"{name} {RANK}" if RANK and ARGUMENTS.way != "tp" else name


def make(name):
    """The model, its optimizer, its batch, and how many steps a repetition has by default."""
    if name == "mlp":
        model = Mlp(784, 1024, 1024, 10)
        x = numbers(of_rank("inputs"), 64 * 784).float().view(64, 784)
        labels = (numbers(of_rank("labels"), 64) * 10).long()
        # Without momentum an update is one operation a tensor, and the plain loop the fastest.
        optimizer = lambda p: torch.optim.SGD(p, lr=0.05, foreach=False)
        return model, optimizer, x, labels, 100
    layers, width, heads, tokens, batch, steps, vocabulary, tied = {
        "gpt-small": (4, 128, 4, 64, 16, 20, 256, False),
        "gpt": (6, 384, 6, 256, 8, 2, 256, False),
        "gpt-124m": (12, 768, 12, 1024, 8, 5, 50257, True)}[name]
    model = Gpt(layers, width, heads, tokens, vocabulary, tied)
    text = (numbers(of_rank("tokens"), batch * (tokens + 1)) * vocabulary).long().view(
        batch, tokens + 1)
    optimizer = lambda p: torch.optim.AdamW(p, lr=3e-4, weight_decay=0.01, fused=True)
    return model, optimizer, text[:, :-1].contiguous(), text[:, 1:].reshape(-1), steps


def split_layers(model):
    """Tensor parallelism with as few collectives as PyTorch's documentation shows: layers by
    columns, then by rows; the table and the logits by the vocabulary, for loss_parallel."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    ranks = dist.get_world_size()
    tied = model.lm_head.weight is model.wte.weight
    for block in model.h:  # rows of rank 0's heads first: its queries, its keys, its values
        for p in block.attn.c_attn.parameters():
            p.data = p.data.unflatten(0, (3, ranks, -1)).transpose(0, 1).flatten(0, 2)
    plan = {"wte": RowwiseParallel(input_layouts=Replicate()),
            "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)}
    for layers in ["h.*.attn.c_attn", "h.*.mlp.c_fc"]:
        plan[layers] = ColwiseParallel()
    for layers in ["h.*.attn.c_proj", "h.*.mlp.c_proj"]:
        plan[layers] = RowwiseParallel()
    model = parallelize_module(model, init_device_mesh("cpu", (ranks,)), plan)
    if tied:
        model.lm_head.weight = model.wte.weight
    return model


def of_split_logits(way):
    """In it, cross_entropy and its backward pass gather no logits."""
    if RANKS == 1 or way != "tp":
        return contextlib.nullcontext()
    from torch.distributed.tensor.parallel import loss_parallel
    return loss_parallel()


def groups_of(model):
    """An update of several tensors at once takes DTensors or others, so they are apart."""
    split = [p for p in model.parameters() if hasattr(p, "placements")]
    rest = [p for p in model.parameters() if not hasattr(p, "placements")]
    return [{"params": group} for group in (split, rest) if group]


def shared_by_ranks(model, way):
    if way == "tp":
        return split_layers(model)
    if way == "ddp":
        # The gradients are not copied back from the buckets, as ours are not.
        return nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    from torch.distributed.fsdp import fully_shard
    for unit in model.h if isinstance(model, Gpt) else model.children():
        fully_shard(unit)
    return fully_shard(model)


def measure(a):
    torch.set_num_threads(1)
    Linear.products = a.products
    if RANKS > 1:
        dist.init_process_group("gloo", init_method=f"file://{a.meet}", rank=RANK,
                                world_size=RANKS)
    model, make_optimizer, inputs, labels, steps = make(a.model)
    dtype = getattr(torch, a.dtype)
    model = model.to(a.device, dtype)
    inputs, labels = inputs.to(a.device), labels.to(a.device)
    if inputs.is_floating_point():
        inputs = inputs.to(dtype)
    ready_at = time.monotonic() - CLAIM_S
    set_weights(model)
    parameters = sum(p.numel() for p in model.parameters())
    if RANKS > 1:
        model = shared_by_ranks(model, a.way)
    optimizer = make_optimizer(groups_of(model))
    steps = a.steps or steps

    def loss_of(inputs, labels):
        logits = model(inputs)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)

    if a.compile:
        OneDnnLinear.product = staticmethod(opaque_product)
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with of_split_logits(a.way):
            loss = loss_of(inputs, labels)
            loss.backward()
        optimizer.step()
        return loss

    first_loss = step().item()
    early_loss = first_loss
    for _ in range(a.warmup - 1):
        early_loss = step().item()
    rates, cpu_rates = [], []
    for repetition in range(a.repetitions):
        if RANKS > 1:
            dist.barrier()
        began, cpu_began = time.perf_counter(), time.process_time()
        for _ in range(steps):
            loss = step()
        loss = loss.item()
        if repetition == 0:
            last_loss = loss  # later ones differ by more and more rounding
        rates.append(steps / (time.perf_counter() - began))
        cpu_rates.append(steps / (time.process_time() - cpu_began))
    if RANKS > 1:
        # The peers may need this rank until all are here; then its threads have to end before it.
        dist.barrier()
        del model
        dist.destroy_process_group()
    if RANK > 0:
        return
    print(json.dumps({
        "program": f"PyTorch {torch.__version__}", "model": a.model, "steps_per_s": rates,
        "steps_per_cpu_s": cpu_rates,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "ready_at_s": ready_at, "first_loss": first_loss, "early_loss": early_loss,
        "last_loss": last_loss, "parameters": parameters,
        "dtype": a.dtype,
        "how": ", ".join(["compiled" if a.compile else "eager",
                          "products by cuBLAS" if a.device == "cuda" else
                          {"mkl": "products by MKL", "onednn": "products by oneDNN",
                           "mkl-as-intel": "products by MKL as on Intel"}[a.products],
                          "plain SGD" if a.model == "mlp" else "fused AdamW"]
                         + ([f"{a.way.upper()} on {RANKS} ranks over Gloo"] if RANKS > 1 else []))}),
          flush=True)


def fastest(a):
    """Tries each variant in a process of its own, briefly; their rates, and the best one's name."""
    rates = {}
    for products in VARIANTS:
        run = subprocess.run([sys.executable, os.path.abspath(__file__), "--model", a.model,
                              "--repetitions", "3", "--products", products],
                             capture_output=True, text=True)
        if run.returncode == 0:
            rates[products] = max(json.loads(run.stdout.splitlines()[-1])["steps_per_cpu_s"])
        else:
            print(f"torch_train.py: {products} cannot be used here: {run.stderr.strip()[-300:]}",
                  file=sys.stderr)
    print(json.dumps({"products": max(rates, key=rates.get), "steps_per_cpu_s": rates}))


if __name__ == "__main__":
    (fastest if ARGUMENTS.fastest else measure)(ARGUMENTS)
