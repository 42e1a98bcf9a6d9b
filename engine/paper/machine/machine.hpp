// The machine: runs a launch, block after block in an order drawn from the seed, warp by warp.
//
// A warp is 32 lanes; those at the lowest pc run first and meet again. One warp is favoured for a
// while: a fair round robin would hide races. Blocks do not overlap in time: a block that spins
// until another one writes is a hang here (a GPU promises no more).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/paper/counters.hpp"
#include "engine/paper/findings.hpp"
#include "engine/paper/memory/memory.hpp"
#include "engine/paper/ptx/module.hpp"
#include "engine/paper/settings.hpp"

namespace lockstep::paper {

struct Launch {
  const ptx::Kernel* kernel = nullptr;
  Dim3 grid, block;
  std::size_t dynamic_shared = 0;         // bytes
  std::span<const std::byte> parameters;  // laid out as in kernel->parameters
  Operation operation = 0;
  std::span<const std::uint64_t> variables;    // of place(), for the kernel's module
  std::size_t dynamic_shared_max = 48 * 1024;  // raised by cudaFuncSetAttribute, to 163 KiB at most
};

enum class Outcome {
  done,
  illegal_address,        // cudaErrorIllegalAddress
  misaligned_address,     // cudaErrorMisalignedAddress
  illegal_instruction,    // a trap: cudaErrorLaunchFailure
  timeout,                // cudaErrorLaunchTimeout
  invalid_configuration,  // no GPU takes it: cudaErrorInvalidConfiguration or InvalidValue
  refused,                // PTX that paper does not know
};

class Machine {
 public:
  Machine(Memory& memory, Findings& findings, const Settings& settings);

  // Runs the whole launch. All but `done` come with a finding.
  Outcome run(const Launch& launch);
  // Checks the launch before anything runs (limits, refusal). Returns `done` if nothing is wrong.
  Outcome accept(const Launch& launch);

  // The counters of all launches since the last clear.
  Counters counters() const;
  const KernelCounters& kernel_counters() const { return counters_; }
  const LinesOfKernels& lines_of_kernels() const { return lines_; }
  void clear_counters() {
    counters_.clear();
    lines_.clear();
  }

 private:
  Memory& memory_;
  Findings& findings_;
  const Settings& settings_;
  KernelCounters counters_;
  LinesOfKernels lines_;
  std::uint64_t launches_ = 0;  // since the start; salts the seed
};

// Allocates and fills the module's variables: an address for each, in order. Empty where memory is
// spent.
std::vector<std::uint64_t> place(const ptx::Module& module, Memory& memory, Operation operation);

}  // namespace lockstep::paper
