// What ranks with a GPU each are told of a failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/nccl/gpu_ranks.hpp"

namespace lockstep::test {

// Long deadlines, which nobody should come to.
inline const GpuRun faulty{.timeout_s = 20, .findings = GpuRun::Findings::are_left};

// A deadline that is waited for. All that comes before it has so long, on a busy machine, too.
constexpr double brief_s = 2;

// On the rank's GPU: its number plus one, each.
Tensor numbers(GpuRank& self, std::int64_t count, DType dtype = DType::float32);

// Calls, waits, and reads what the GPU made of it: the sentence that one of them throws. Afterwards
// every call is refused with it, of the host as well.
std::string told_by(GpuRank& self, const std::function<void()>& call);

// A rank of two with a deadline of its own.
std::string with_deadline(double timeout_s, comm::Transport words, comm::Store& store, int rank,
                          const GpuBody& body);

// Fails the test unless all ranks but `dead` are told each of `parts`, within `seconds`.
void all_are_told(const std::vector<Outcome>& outcomes, const std::vector<std::string>& parts,
                  int dead = -1, double seconds = 15);

}  // namespace lockstep::test
