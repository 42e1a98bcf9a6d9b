# torchrun --nproc-per-node 3 lessons/02_processes_and_ranks/twins/setup.py
import os
from datetime import timedelta

import torch
import torch.distributed as dist

rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
device = torch.device("cpu")  # on GPUs: torch.device("cuda", local_rank), and set_device(device)
dist.init_process_group("gloo", timeout=timedelta(seconds=30))  # blocks until all ranks are here
total = torch.tensor(rank, device=device)
dist.all_reduce(total)
if rank == 0:  # one rank prints and saves; all ranks reduce
    print(f"{dist.get_world_size()} ranks, whose numbers add up to {total.item()}")
dist.destroy_process_group()
