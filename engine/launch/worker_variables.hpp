// The environment of one rank that the launcher starts.
#pragma once

#include <string>
#include <vector>

#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

// `inherited` ("NAME=value" each) with ours in place of what it says of them: torchrun's variables
// for local rank `local_rank` of the plan's node, LOCKSTEP_STORE and LOCKSTEP_ADDR.
//   error_file   where the rank may say why it failed
std::vector<std::string> environment_of(const Plan& plan, int local_rank,
                                        const std::string& error_file,
                                        const std::vector<std::string>& inherited);

}  // namespace lockstep::launch
