// The rules of offload_optimizer.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/11_sharding/offload_optimizer/host.hpp"

namespace lockstep::grader::offload_optimizer {

// The property that a check asks for besides values.
enum class Property : std::uint8_t { values, events, time, bytes, memory };

// The parameters after each step, and then what the check asks for.
//   Throws  Failure through the runner
void check(CaseRunner& runner, const Played& played, const OffloadProblem& problem,
           std::uint64_t salt, const HostService& host, Property property);

}  // namespace lockstep::grader::offload_optimizer
