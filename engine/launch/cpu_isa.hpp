// LOCKSTEP_CPU_ISA chooses the vector instructions that a process computes with; without it they
// are the widest that the processor has. A narrower choice gives the same bits more slowly; it
// shows on one machine what another one runs, and how fast.
#pragma once

#include "engine/launch/environment.hpp"
#include "engine/tensor/cpu/isa.hpp"

namespace lockstep::launch {

// Throws UsageError, which names the variable and what it may be, where it is no instruction set
// or one wider than `widest`.
kernels::Isa cpu_isa(const Lookup& lookup, kernels::Isa widest = kernels::widest_isa());

}  // namespace lockstep::launch
