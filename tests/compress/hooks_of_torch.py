# Reduces the same gradients with PyTorch's own communication hooks and with the engine's, and
# compares what comes out:
#   python3 tests/compress/hooks_of_torch.py build/release/bin/hooks_of_engine
# Ends with 77, which ctest shows as skipped, where torch is not installed.
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as processes
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
except ImportError as missing:
    print(f"SKIPPED: {missing}. Nothing was compared with PyTorch. Run it with a Python that has "
          "torch, or configure with -DLOCKSTEP_TORCH_PYTHON=that python.")
    sys.exit(77)

ROWS, COLUMNS, REST = 12, 9, 5
PASSES = 4
DENSE = 2  # passes before PowerSGD begins: PyTorch allows no fewer


def gradients_of(rank, step):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    scale = 10.0 ** torch.randint(-2, 3, (ROWS * COLUMNS + REST,), generator=generator)
    return torch.randn(ROWS * COLUMNS + REST, generator=generator) * scale


def first_q(matrix_rank):
    return torch.randn(COLUMNS, max(matrix_rank, 1), generator=torch.Generator().manual_seed(5))


# Every gradient is what `wanted` says: the loss is the product of both.
class Given(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.zeros(ROWS, COLUMNS))
        self.rest = torch.nn.Parameter(torch.zeros(REST))

    def forward(self, wanted):
        count = ROWS * COLUMNS
        return (self.matrix.flatten() * wanted[:count]).sum() + (self.rest * wanted[count:]).sum()


def pass_by_pass(rank, hook, matrix_rank, q):
    model = torch.nn.parallel.DistributedDataParallel(Given())
    state = None
    if hook == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=matrix_rank,
                                            start_powerSGD_iter=DENSE)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    else:
        casts = {"fp16": default_hooks.fp16_compress_hook, "bf16": default_hooks.bf16_compress_hook}
        model.register_comm_hook(None, casts[hook])
    seen = []
    for step in range(-DENSE, PASSES):
        if step == 0 and state is not None:
            state.p_memory_dict[0] = torch.empty(ROWS * matrix_rank)
            state.q_memory_dict[0] = q.clone().flatten()
        model.zero_grad()
        model(gradients_of(rank, max(step, 0))).backward()
        if step >= 0:
            seen.append(torch.cat([model.module.matrix.grad.flatten(), model.module.rest.grad]))
    return torch.cat(seen)


def rank_of_torch(rank, ranks, cases, store, results):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    seen = [pass_by_pass(rank, *case, first_q(case[1])) for case in cases]
    if rank == 0:
        torch.save(seen, results)
    dist.destroy_process_group()
    # PyTorch 2.15 aborts now and then while its interpreter ends ("terminate called without an
    # active exception"), so it does not end: everything is written.
    os._exit(0)


# One start of processes for all cases: most of the time is Python's own start.
def of_torch(ranks, cases):
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        processes.spawn(rank_of_torch, nprocs=ranks,
                        args=(ranks, cases, os.path.join(folder, "store"), results))
        return torch.load(results)


def of_engine(ranks, hook, matrix_rank, q):
    words = [hook, ranks, PASSES, matrix_rank, ROWS, COLUMNS, REST]
    if hook == "powersgd":
        words += [f"{x:.9g}" for x in q.flatten().tolist()]
    for step in range(PASSES):
        for rank in range(ranks):
            words += [f"{x:.9g}" for x in gradients_of(rank, step).tolist()]
    done = subprocess.run([sys.argv[1]], input=" ".join(map(str, words)), check=True,
                          capture_output=True, text=True)
    return torch.tensor([float(line) for line in done.stdout.split()])


def magnitudes(ranks):
    return torch.cat([sum(gradients_of(rank, step).abs() for rank in range(ranks)) / ranks
                      for step in range(PASSES)])


def compare(ranks, cases, allowed):
    failed = []
    for case, torchs in zip(cases, of_torch(ranks, cases)):
        what = f"{case[0]}{':' + str(case[1]) if case[1] else ''} on {ranks} ranks"
        ours = of_engine(ranks, *case, first_q(case[1]))
        error = (torchs - ours).abs()
        print(f"{what}: {int((error == 0).sum())} of {len(error)} equal bit for bit, largest "
              f"difference {error.max().item():.3g}")
        if len(torchs) != len(ours) or not ((error - allowed[case[0]]).max().item() <= 0):
            failed.append(what)
    return failed


if __name__ == "__main__":
    cases = [("fp16", 0), ("bf16", 0), ("powersgd", 1), ("powersgd", 2)]
    # PowerSGD: four passes of float32 with the same first Q, hence roundings of the largest entry,
    # by 2^-24 each, some 20 a pass (products of 9 and 12 terms). A term that is left out would show
    # in the first digits.
    rounding = magnitudes(3).max().item() * 80 * 2**-24
    # On two ranks a division by N is exact in 16 bits, whether it comes before the conversion, as
    # here, or after it, as in PyTorch; and two numbers have one sum.
    failed = compare(2, cases, {"fp16": 0, "bf16": 0, "powersgd": rounding})
    # On three, PyTorch rounds twice before the sum and adds in another order: six roundings of a
    # share or of a partial sum, ours four, each by at most half of the last place. Shares below the
    # smallest normal float16 are rounded to multiples of 2^-24.
    failed += compare(3, cases, {"fp16": magnitudes(3) * 10 * 2**-11 + 10 * 2**-25,
                                 "bf16": magnitudes(3) * 10 * 2**-8,
                                 "powersgd": rounding})
    if failed:
        sys.exit("FAILED: " + "; ".join(failed))
