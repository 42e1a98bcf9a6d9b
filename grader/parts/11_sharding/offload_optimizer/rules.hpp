// The rules of offload_optimizer: each throws Failure through the runner.
#pragma once

#include "grader/parts/11_sharding/offload_optimizer/host.hpp"

namespace lockstep::grader::offload_optimizer {

// The parameters after each step.
void check_values(CaseRunner& runner, const Played& played, const OffloadProblem& p,
                  std::uint64_t salt, const HostService& host);

// Costs of a training that is right: copies begin at once, none waits in vain, what crosses the link, and
// what the device's process holds.
void check_events(CaseRunner& runner, const Played& played, const OffloadProblem& p,
                  const HostService& host);
void check_time(CaseRunner& runner, const Played& played, const OffloadProblem& p,
                const HostService& host);
void check_bytes(CaseRunner& runner, const Played& played, const OffloadProblem& p,
                 const HostService& host);
void check_memory(CaseRunner& runner, const Played& played, const OffloadProblem& p,
                  const HostService& host);

}  // namespace lockstep::grader::offload_optimizer
