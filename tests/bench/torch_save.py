#!/usr/bin/env python3
"""The PyTorch side of ./lab bench save: torch.distributed.checkpoint.async_save while an MLP of
the same size trains under DistributedDataParallel, with AdamW and a thread a rank, on storage as
slow as that of engine/apps/bench_save.cpp: each write takes as long as its rank's share of the
rate says. Every rank starts it; rank 0 prints one JSON object.

    torch_save.py --meet FILE --folder FOLDER --hidden H --batch B --bytes-per-s R --save-s S
"""
import argparse
import contextlib
import io
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.filesystem import FileSystem
from torch.distributed.checkpoint.state_dict import get_state_dict

INPUTS, CLASSES = 1024, 10


class SlowFile(io.FileIO):
    bytes_per_s = 0.0

    def write(self, data):
        view = memoryview(data).cast("B")
        due = time.monotonic()
        for begin in range(0, len(view), 1 << 20):
            some = view[begin:begin + (1 << 20)]
            super().write(some)
            due += len(some) / SlowFile.bytes_per_s
            time.sleep(max(0.0, due - time.monotonic()))
        return len(view)


class SlowStorage(FileSystem):
    renamed_s = 0.0  # the last time: the commit

    @contextlib.contextmanager
    def create_stream(self, path, mode):
        assert mode == "wb", "this storage is only written"
        with SlowFile(path, "w") as stream:
            yield stream

    def rename(self, path, new_path):
        super().rename(path, new_path)
        SlowStorage.renamed_s = time.monotonic()


def resident_bytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(field + ":"))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")


class Training:
    def __init__(self, hidden, batch):
        layers = [torch.nn.Linear(INPUTS, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden),
                  torch.nn.ReLU(), torch.nn.Linear(hidden, CLASSES)]
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.inputs = torch.full((batch, INPUTS), 0.5)
        self.labels = torch.zeros(batch, dtype=torch.int64)

    def step(self):
        began = time.monotonic()
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(self.inputs), self.labels)
        loss.backward()
        self.optimizer.step()
        return time.monotonic() - began

    def state(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}


def measured_save(training, folder, group, steps):
    writer = dcp.FileSystemWriter(folder)
    writer.fs = SlowStorage()
    dist.barrier()
    before = resident_bytes("VmRSS")
    reset_peak()
    began = time.monotonic()
    saving = dcp.async_save(training.state(), storage_writer=writer, process_group=group)
    call_s = time.monotonic() - began
    memory = resident_bytes("VmHWM") - before
    timed = []
    for _ in range(steps):
        at = time.monotonic()
        timed.append((at, training.step()))
    saving.result()
    # Rank 0 commits, and alone knows when.
    steps_s = [s for at, s in timed if at < SlowStorage.renamed_s] or [0.0]
    steps_s[0] += call_s  # a step waits for the call that comes before it
    return {"name": "PyTorch, DCP async_save", "steps_s": steps_s, "call_s": call_s,
            "committed_s": SlowStorage.renamed_s - began, "memory_bytes": memory}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meet", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--hidden", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--bytes-per-s", type=float, required=True)
    parser.add_argument("--save-s", type=float, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method="file://" + asked.meet, rank=rank, world_size=ranks)
    SlowFile.bytes_per_s = asked.bytes_per_s / ranks
    training = Training(asked.hidden, asked.batch)
    for _ in range(3):
        training.step()
    count = torch.tensor([max(5, round(asked.save_s / statistics.median(
        training.step() for _ in range(5))))])
    dist.broadcast(count, 0)
    steps = int(count.item())
    rows = [{"name": "PyTorch, no save", "steps_s": [training.step() for _ in range(steps)]}]
    rows.append(measured_save(training, asked.folder, dist.new_group(backend="gloo"), steps))
    if rank == 0:
        print(json.dumps({"program": "PyTorch " + torch.__version__, "saves": rows}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
