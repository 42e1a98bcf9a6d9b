// Work that launches every kernel of the GPU's library that a training run does, in sizes of a
// small model: what ./lab gpu explain counts on paper, and what a profiler looks at on a GPU.
#pragma once

#include "engine/base/dtype.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::apps {

void run_gpu_workload(Device& device, DType dtype);

}  // namespace lockstep::apps
