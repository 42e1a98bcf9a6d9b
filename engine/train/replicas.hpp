// Whether the replicas are still one model.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::train {

// The hash of each rank's parameters, by rank; the same list on all ranks.
//   Comm  one all-gather of 8 bytes a rank
std::vector<std::uint64_t> gather_hashes(comm::ProcessGroup& group, nn::Module& model);

bool all_equal(const std::vector<std::uint64_t>& hashes);

}  // namespace lockstep::train
