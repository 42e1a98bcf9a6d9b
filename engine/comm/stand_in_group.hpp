// A group that carries tensors without numbers as if they had some: for each it sends as many bytes
// of zeros, on the same way and in the same order. So a program that computes nothing, only waits
// as long as it would (tensor/waiting_device.hpp), communicates all the same. Tensors with numbers
// travel as they are.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

// In front of `inner`, which must outlive it; inner carries tensors of the host.
//   Memory  as much as the operations that are under way carry
std::unique_ptr<ProcessGroup> make_stand_in_group(ProcessGroup& inner);

}  // namespace lockstep::comm
