// The environment of one rank that the launcher starts.
#pragma once

#include <string>
#include <vector>

#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

// The files that a rank may write for its launcher.
struct RankFiles {
  std::string error;  // why it failed
  std::string spare;  // made, and empty: the others can do without it
};

// `inherited` ("NAME=value" each) with ours in place of what it says of them: torchrun's variables
// for local rank `local_rank` of the plan's node, and those of launcher.hpp.
std::vector<std::string> environment_of(const Plan& plan, int local_rank, const RankFiles& files,
                                        const std::vector<std::string>& inherited);

}  // namespace lockstep::launch
