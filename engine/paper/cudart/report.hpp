// What is said at the end of the process, and its exit code in strict mode.
#pragma once

#include <string>

#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {

// Of a process that ends with findings in strict mode (PAPER_STRICT=1).
constexpr int strict_exit_code = 86;

// A line a kernel under a headline; empty where none ran.
std::string counters_table(const KernelCounters& kernels);

void print_findings(Runtime& state);  // to stderr; those that have not been printed yet

}  // namespace lockstep::paper
