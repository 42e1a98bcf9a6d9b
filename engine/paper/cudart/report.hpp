// The report at the end of the process, and the exit code in strict mode.
#pragma once

#include <string>

#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {

// The exit code of a process that ends with findings in strict mode (PAPER_STRICT=1).
constexpr int strict_exit_code = 86;

// A line a kernel under a headline; empty where none ran.
std::string counters_table(const KernelCounters& kernels);

// The same by lines of the source, for programs, in words that tabs separate: a line "kernel" for
// each (name, symbol, launches, blocks, threads, bytes of dynamic shared memory, barriers), then
// those of its source, "line" (file, line, instructions, lane instructions, flops, requests of
// device memory, sectors, sectors needed, requests of shared memory, passes, passes needed,
// atomics, divergent branches; bytes between neighbouring lanes, in device memory and in shared:
// a number, "mixed" or "-").
std::string lines_table(const KernelCounters& kernels, const LinesOfKernels& lines);

void print_findings(Runtime& state);  // to stderr; those that have not been printed yet

}  // namespace lockstep::paper
