# torchrun --nproc-per-node 4 tests/equality/beside_torch.py
"""PyTorch's ways to train on several ranks, on the weights and batches that the engine's tests wrote
into the folder LOCKSTEP_BESIDE (beside_torch_test.cpp), in float64 over Gloo; mixed precision is
float32 weights with passes in bfloat16. Of each way and rule it writes the losses and the parameters
after the last step, and of fully_shard each rank's rows.
"""
import json
import os
import sys
from contextlib import nullcontext
from dataclasses import replace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, "tests/bench")
# torch_train.py reads its own options when it is loaded, since one of them comes before PyTorch.
sys.argv = [sys.argv[0], "--model", "gpt-small"]
import torch_train

FOLDER = os.environ["LOCKSTEP_BESIDE"]


def with_fully_shard(model, **options):
    for block in model.h:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def with_copies(model):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    return with_fully_shard(model, mesh=mesh)


def with_masters(reduce_dtype):
    """The loss is computed in float32, as the engine does: the root's output is."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce_dtype)

    def shard(model):
        for block in model.h:
            fully_shard(block, mp_policy=policy)
        return fully_shard(model, mp_policy=replace(policy, output_dtype=torch.float32))

    return shard


WAYS = {
    "ZeroRedundancyOptimizer": DistributedDataParallel,
    "fully_shard": with_fully_shard,
    "fully_shard, kept for backward": lambda model: with_fully_shard(
        model, reshard_after_forward=False),
    "fully_shard, 2 x 2": with_copies,
    "parallelize_module": torch_train.split_layers,
    "fully_shard, bfloat16": with_masters(torch.bfloat16),
    "fully_shard, bfloat16, reduced in float32": with_masters(torch.float32),
}


def make_optimizer(way, model, rule):
    kind = getattr(torch.optim, rule["optimizer"])
    if way == "ZeroRedundancyOptimizer":
        return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=kind,
                                       **rule["settings"])
    return kind(model.parameters(), **rule["settings"])


def whole(tensor):
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def write_rows(model):
    """How many rows of each parameter each rank has."""
    mine = {name: p.to_local().shape[0] for name, p in model.named_parameters()}
    of_ranks = [None] * dist.get_world_size()
    dist.all_gather_object(of_ranks, mine)
    if dist.get_rank() == 0:
        with open(f"{FOLDER}/rows.json", "w") as file:
            json.dump(of_ranks, file)


def train(way, rule, sizes, first, batches):
    weights = torch.float32 if "bfloat16" in way else torch.float64
    model = torch_train.Gpt(**sizes, tied=True).to(weights)
    model.load_state_dict({**first, "lm_head.weight": first["wte.weight"]})
    split = way == "parallelize_module"
    model = WAYS[way](model)
    if way == "fully_shard":
        write_rows(model)
    optimizer = make_optimizer(way, model, rule)
    losses = []
    for step in range(rule["steps"]):
        at = f"{step}.{dist.get_rank()}"
        optimizer.zero_grad()
        with loss_parallel() if split else nullcontext():
            logits = model(batches[at + ".inputs"])
            loss = F.cross_entropy(logits.flatten(0, 1), batches[at + ".labels"].flatten())
            loss.backward()
        if rule["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), rule["clip"])
        optimizer.step()
        mean = whole(loss) / dist.get_world_size()
        dist.all_reduce(mean)
        losses.append(mean)
    names = [(name.removeprefix("module."), p) for name, p in model.named_parameters()]
    trained = {name: whole(p).clone() for name, p in names}
    if split:
        for name in [name for name in trained if "c_attn" in name]:  # as split_layers, in reverse
            of_ranks = trained[name].unflatten(0, (dist.get_world_size(), 3, -1))
            trained[name] = of_ranks.transpose(0, 1).flatten(0, 2).contiguous()
    if dist.get_rank() == 0:
        save_file({**trained, "losses": torch.stack(losses)}, f"{FOLDER}/{way}, {rule['name']}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with open(f"{FOLDER}/task.json") as file:
        task = json.load(file)
    first = load_file(f"{FOLDER}/first.safetensors")
    batches = load_file(f"{FOLDER}/batches.safetensors")
    for way in task["ways"]:
        for rule in task["rules"]:
            train(way, rule, task["sizes"], first, batches)
    dist.destroy_process_group()
