#!/usr/bin/env python3
"""PyTorch's pipelining beside ./lab train --pp: each process is a rank with its stage of
torch_train.py's gpt-small, over Gloo. Model, first weights and batch are those of torch_train.py on
one rank, so the losses are its losses but for rounding. The last rank prints one JSON object.

    ./lab run --ranks 2 -- build/torch/bin/python3 tests/bench/torch_pipeline.py --meet FILE
        [--schedule gpipe|1f1b|interleaved|zero-bubble] [--micro-batches M] [--steps K]
        [--repetitions R] [--warmup W] [--products mkl|mkl-as-intel|onednn]

FILE must not be there yet: the ranks meet in it.
"""
import argparse
import json
import os
import sys
import time


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meet", required=True)
    parser.add_argument("--schedule", default="1f1b",
                        choices=["gpipe", "1f1b", "interleaved", "zero-bubble"])
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--products", choices=["mkl", "mkl-as-intel", "onednn"], default="mkl")
    return parser.parse_args()


ARGUMENTS = options()
# torch_train.py reads its own options when it is loaded, since one of them comes before PyTorch.
sys.argv = [sys.argv[0], "--model", "gpt-small", "--products", ARGUMENTS.products]
import torch_train

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import pipelining

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Part(nn.Module):
    """Part k of K of a GPT: its share of the blocks; the embedding before the first one, the head
    after the last one."""

    def __init__(self, gpt, k, parts):
        super().__init__()
        if len(gpt.h) % parts != 0:
            sys.exit(f"torch_pipeline.py: {len(gpt.h)} layers in {parts} parts are not equal")
        count = len(gpt.h) // parts
        self.h = gpt.h[k * count:(k + 1) * count]
        self.first, self.last = k == 0, k == parts - 1
        if self.first:
            self.wte, self.wpe = gpt.wte, gpt.wpe
        if self.last:
            self.ln_f, self.lm_head = gpt.ln_f, gpt.lm_head

    def forward(self, x):
        if self.first:
            x = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x)) if self.last else x


def loss_of(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def make_schedule(gpt, a):
    chunks = 2 if a.schedule == "interleaved" else 1
    parts = RANKS * chunks
    stages = [pipelining.PipelineStage(Part(gpt, c * RANKS + RANK, parts), c * RANKS + RANK, parts,
                                       torch.device("cpu")) for c in range(chunks)]
    kind = {"gpipe": pipelining.ScheduleGPipe, "1f1b": pipelining.Schedule1F1B,
            "interleaved": pipelining.ScheduleInterleaved1F1B,
            "zero-bubble": pipelining.ScheduleInterleavedZeroBubble}[a.schedule]
    single = a.schedule in ("gpipe", "1f1b")
    schedule = kind(stages[0] if single else stages, a.micro_batches, loss_fn=loss_of)
    return schedule, [p for stage in stages for p in stage.submod.parameters()]


def measure(a):
    torch.set_num_threads(1)
    torch_train.Linear.products = a.products
    dist.init_process_group("gloo", init_method=f"file://{a.meet}", rank=RANK, world_size=RANKS)
    gpt, make_optimizer, inputs, labels, _ = torch_train.make("gpt-small")
    torch_train.set_weights(gpt)
    labels = labels.view(inputs.shape)
    schedule, parameters = make_schedule(gpt, a)
    optimizer = make_optimizer(parameters)
    last = RANK == RANKS - 1

    def step():
        optimizer.zero_grad(set_to_none=True)
        losses = []
        given = {"target": labels, "losses": losses} if last else {}
        schedule.step(*([inputs] if RANK == 0 else []), **given, return_outputs=False)
        optimizer.step()
        return torch.stack(losses).mean().item() if last else None

    first_loss = step()
    for _ in range(a.warmup - 1):
        step()
    rates, last_loss = [], None
    for repetition in range(a.repetitions):
        dist.barrier()
        began = time.perf_counter()
        for _ in range(a.steps):
            loss = step()
        dist.barrier()
        rates.append(a.steps / (time.perf_counter() - began))
        if repetition == 0:
            last_loss = loss
    if last:
        print(json.dumps({
            "program": f"PyTorch {torch.__version__}", "model": "gpt-small", "stages": RANKS,
            "schedule": a.schedule, "micro_batches": a.micro_batches, "steps_per_s": rates,
            "first_loss": first_loss, "last_loss": last_loss, "products": a.products}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    measure(ARGUMENTS)
