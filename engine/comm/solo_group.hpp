// The group of one rank: every collective is the identity or a copy, and there are no peers.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

std::unique_ptr<ProcessGroup> make_solo_group(RankNames names = {});

}  // namespace lockstep::comm
