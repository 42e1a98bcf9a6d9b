// A group that carries tensors of far devices only, as a GPU's library carries those of its GPUs:
// the stand-in for it in tests. It shows another group the memory behind the tensors, in the order
// of launches. The host reads nothing.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

// inner   carries host tensors
std::unique_ptr<comm::ProcessGroup> make_far_group(std::unique_ptr<comm::ProcessGroup> inner);

}  // namespace lockstep::test
