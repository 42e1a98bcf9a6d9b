// The question before a split: backends whose ranks are processes ask everybody for color and key.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/comm/split_groups.hpp"

namespace lockstep::comm {

// This rank's group, by the part split_groups; nothing when its color is no_color.
//   Requires  all ranks of `group` call this
//   Comm      one all_gather of two integers
std::optional<GroupPlan> plan_split(ProcessGroup& group, ColorKey mine, const Where& where);

}  // namespace lockstep::comm
