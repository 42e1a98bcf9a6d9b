"""Runs PyTorch programs as their first lines say, in one interpreter that has loaded PyTorch.

A twin computes for a moment, but each of its processes loads PyTorch for two seconds, and its
optimizer loads torch._dynamo for two more. So this program loads both once, and forks the ranks
that torchrun would start, with the environment that torchrun gives them.

    python run_twins.py FILE…

prints a JSON list: of each file its exit code, and what its ranks wrote.
"""
import json
import os
import runpy
import select
import signal
import sys
import time

import torch
import torch._dynamo  # noqa: F401
import torch.distributed as dist
import torch.distributed.algorithms.ddp_comm_hooks.default_hooks  # noqa: F401
import torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook  # noqa: F401
from torch.nn.parallel import DistributedDataParallel  # noqa: F401

DEADLINE_S = 60


def ranks_of(file):
    """How many processes `# torchrun --nproc-per-node N FILE` starts; None for `# python FILE`."""
    with open(file) as source:
        words = source.readline().split()
    if words == ["#", "python", file]:
        return None
    if len(words) != 5 or words[:3] != ["#", "torchrun", "--nproc-per-node"] or words[4] != file:
        raise SystemExit(f"{file}: the first line is no command: {' '.join(words)}")
    return int(words[3])


def environment(rank, ranks, port):
    """What torchrun sets: https://docs.pytorch.org/docs/stable/elastic/run.html"""
    return {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "GROUP_RANK": "0", "ROLE_RANK": str(rank),
        "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "GROUP_WORLD_SIZE": "1",
        "MASTER_ADDR": "localhost", "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def start_store():
    """The store at which ranks meet, in a process of its own, since it has a thread, and a process
    that has threads must not fork: (process, port)."""
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        os.write(writes, str(store.port).encode())
        os.close(writes)
        signal.pause()
    os.close(writes)
    with os.fdopen(reads) as said:
        return process, int(said.read())


def be_a_rank(file, variables, pipe):
    """In a forked process: runs the file, and never returns."""
    for stream in (1, 2):
        os.dup2(pipe, stream)
    code = 0
    try:
        os.environ.update(variables)
        sys.argv = [file]
        runpy.run_path(file, run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001, what a program dies of is printed, as Python does it
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(file):
    ranks = ranks_of(file)
    variables = [{}]
    store = None
    if ranks is not None:
        store, port = start_store()
        variables = [environment(rank, ranks, port) for rank in range(ranks)]
    reads, writes = os.pipe()
    processes = set()
    for of_rank in variables:
        child = os.fork()
        if child == 0:
            os.close(reads)
            be_a_rank(file, of_rank, writes)
        processes.add(child)
    os.close(writes)
    output, code, ends_at = b"", 0, time.monotonic() + DEADLINE_S
    while True:  # until every rank has closed its end
        left = ends_at - time.monotonic()
        if left <= 0 or not select.select([reads], [], [], left)[0]:
            output += f"\nnot at its end after {DEADLINE_S} s\n".encode()
            for process in processes:
                os.kill(process, signal.SIGKILL)
            break
        some = os.read(reads, 1 << 16)
        if not some:
            break
        output += some
    os.close(reads)
    if store is not None:
        os.kill(store, signal.SIGKILL)
        os.waitpid(store, 0)
    for process in processes:
        ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        code = code or ended
    return {"file": file, "exit_code": code, "output": output.decode(errors="replace")}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps([run(file) for file in sys.argv[1:]]))
