# Compares the order of passes under PyTorch's pipeline schedules with the engine's, and their
# makespans, both as the engine prices them:
#   python3 tests/pipeline/orders_of_torch.py build/release/bin/orders_of_engine
# Ends with 77, which ctest shows as skipped, where torch is not installed.
import subprocess
import sys

try:
    from torch.distributed.pipelining import schedules
except ImportError as missing:
    print(f"SKIPPED: {missing}. Nothing was compared with PyTorch. Run it with a Python that has "
          "torch, or configure with -DLOCKSTEP_TORCH_PYTHON=that python.")
    sys.exit(77)


# A stage that computes nothing and sends nothing, and writes down what its schedule asks for.
class Stage:
    submod = None
    has_backward = True

    def __init__(self, index, parts, ranks):
        self.stage_index, self.num_stages = index, parts
        self.group_size, self.group_rank = ranks, index % ranks
        self.is_first, self.is_last = index == 0, index == parts - 1
        self.passes = []

    def forward_one_chunk(self, micro_batch, *rest, **more):
        self.passes.append(f"F{micro_batch}")

    def backward_one_chunk(self, micro_batch, *rest, **more):
        self.passes.append(f"B{micro_batch}")

    def __getattr__(self, name):
        if name.startswith("get_") or name in ("release_fwd_send_outputs", "perform_reduce_grad"):
            return lambda *rest, **more: []
        raise AttributeError(name)


# What each stage does in a step, as it does it.
def one_part_a_stage(kind, p, m):
    stages = [Stage(s, p, p) for s in range(p)]
    for stage in stages:
        schedule = kind(stage, m)
        schedule._initialize_stage = lambda *rest: None
        schedule._step_microbatches([()] * m, [{}] * m, return_outputs=False)
    return [stage.passes for stage in stages]


# The lists that its runtime carries out, without messages; part c·p + s is chunk c of stage s.
def several_parts_a_stage(kind, p, v, m):
    schedule = kind([Stage(c * p, v * p, p) for c in range(v)], m)
    return [[f"{a.computation_type.value}{a.microbatch_index}" +
             (f".{a.stage_index // p}" if v > 1 else "")
             for a in schedule.pipeline_order_with_comms[s] if a.is_compute_op] for s in range(p)]


def of_torch(name, p, v, m):
    if name == "gpipe":
        return one_part_a_stage(schedules.ScheduleGPipe, p, m)
    if name == "1f1b":
        return one_part_a_stage(schedules.Schedule1F1B, p, m)
    if name == "interleaved":
        return several_parts_a_stage(schedules.ScheduleInterleaved1F1B, p, v, m)
    return several_parts_a_stage(schedules.ScheduleInterleavedZeroBubble, p, v, m)


# Of each case the engine's order, and its makespans and PyTorch's.
def of_engine(cases):
    words = []
    for case, orders in cases:
        words += [*case, *(word for order in orders for word in (len(order), *order))]
    done = subprocess.run([sys.argv[1]], input=" ".join(map(str, words)), check=True,
                          stdout=subprocess.PIPE, text=True)
    lines = iter(done.stdout.splitlines())
    for (_, p, _, _), _ in cases:
        orders = [next(lines).split() for _ in range(p)]
        yield orders, [float(word) for word in next(lines).split()]


# The engine's GPipe takes the backward passes as the paper draws them, the last micro-batch first.
def last_first(order):
    return [word for word in order if word[0] == "F"] + [
        word for word in reversed(order) if word[0] == "B"]


# PyTorch carries out an I and the W of the same pass as one B where they follow each other.
def in_halves(order):
    return [half for word in order
            for half in ((f"I{word[1:]}", f"W{word[1:]}") if word[0] == "B" else (word,))]


def main():
    cases = [("gpipe", p, 1, m) for p in (2, 3, 4) for m in (1, 2, 5, 8)]
    cases += [("1f1b", p, 1, m) for p in (2, 3, 4) for m in (2, 3, 4, 5, 8) if m >= p]
    cases += [("interleaved", p, 2, m) for p, m in ((2, 2), (2, 8), (3, 3), (3, 6), (4, 4), (4, 8))]
    cases += [("zero-bubble", p, 1, m)
              for p, m in ((2, 2), (2, 8), (3, 2), (3, 5), (3, 6), (3, 8), (4, 2), (4, 5), (4, 8))]
    cases = [(case, of_torch(*case)) for case in cases]
    failed = []
    for (case, theirs), (ours, (units, torch_units, uneven, torch_uneven)) in zip(
            cases, of_engine(cases)):
        what = "{}, p {}, v {}, m {}".format(*case)
        as_ours = {"zero-bubble": in_halves, "gpipe": last_first}.get(case[0], list)
        theirs = [as_ours(order) for order in theirs]
        same = ours == theirs and units == torch_units and uneven == torch_uneven
        print(f"{what}: {'the same order' if ours == theirs else 'other orders'}; makespans "
              f"{units:g} and {uneven:g}, PyTorch's {torch_units:g} and {torch_uneven:g}")
        if not same:
            failed.append(what)
            for mine, other in zip(ours, theirs):
                print("  ours:", *mine, "\n  PyTorch's:", *other)
    # PyTorch's zero bubble with several chunks a stage, which the engine has not: beside the engine's
    # interleaved schedule, in passes over one chunk.
    zero_bubble = schedules.ScheduleInterleavedZeroBubble
    cases = [(("interleaved", p, 2, m), several_parts_a_stage(zero_bubble, p, 2, m))
             for p, m in ((2, 8), (3, 6), (4, 8))]
    for ((_, p, v, m), _), (_, (ours, theirs, _, _)) in zip(cases, of_engine(cases)):
        print(f"zero bubble in {v} chunks, p {p}, m {m}: {theirs:g}; interleaved: {ours:g}")
        if theirs != 3 * m * v + p - 1:
            failed.append(f"zero bubble in {v} chunks, p {p}, m {m}")
    # What PyTorch refuses and the engine does not.
    for kind, p, m, says in ((schedules.Schedule1F1B, 3, 2, "equal to the number of stages"),
                             (schedules.ScheduleInterleavedZeroBubble, 2, 5, "multiple")):
        try:
            kind(Stage(0, p, p) if m < p else [Stage(0, p, p)], m)
            failed.append(f"{kind.__name__} takes p {p}, m {m}")
        except ValueError as error:
            if says not in str(error):
                failed.append(f"{kind.__name__}: {error}")
    if failed:
        sys.exit("FAILED: " + "; ".join(failed))


if __name__ == "__main__":
    main()
