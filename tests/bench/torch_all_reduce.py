#!/usr/bin/env python3
"""The PyTorch side of ./lab bench all_reduce: one rank over PyTorch's Gloo, started by the launcher.
It does what engine/apps/bench_all_reduce.cpp does, and rank 0 prints the same JSON object.

    torch_all_reduce.py --meet FILE --sizes BYTES,… --calls K,…
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist

PERIOD = 97  # engine/apps/bench_sums.hpp


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meet", required=True, help="a new file in which the ranks meet")
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--calls", required=True)
    return parser.parse_args()


def one_call(data, values, rank, ranks):
    data.copy_(values).mul_(rank + 1)
    dist.barrier()
    began = time.perf_counter()
    dist.all_reduce(data)
    seconds = torch.tensor([time.perf_counter() - began], dtype=torch.float64)
    if not torch.equal(data, values * (ranks * (ranks + 1) // 2)):
        sys.exit(f"torch_all_reduce.py: rank {rank}: wrong sum")
    dist.all_reduce(seconds)
    return seconds.item() / ranks


def main():
    a = options()
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"file://{a.meet}", rank=rank, world_size=ranks)
    rows = []
    for size, calls in zip(map(int, a.sizes.split(",")), map(int, a.calls.split(","))):
        values = (torch.arange(size // 4) % PERIOD + 1).float()
        data = torch.empty(size // 4)
        one_call(data, values, rank, ranks)  # the first call meets cold memory
        rows.append({"bytes": size,
                     "seconds": [one_call(data, values, rank, ranks) for _ in range(calls)]})
    if rank == 0:
        print(json.dumps({"program": f"PyTorch {torch.__version__}", "how": "gloo", "calls": rows}),
              flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
