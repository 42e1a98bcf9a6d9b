// Ranks with a GPU each, on paper: forked processes that meet in a store of the parent, in a group
// whose tensors of the GPU travel by NCCL. What paper finds in a rank fails it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/nccl.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "tests/comm/ranks.hpp"

namespace lockstep::test {

// What a rank has. The host's tensors are on `host`.
struct GpuRank {
  Device& gpu;
  Device& host;
  comm::ProcessGroup& group;
  int rank() const { return group.rank(); }
  int size() const { return group.size(); }
};

struct GpuRun {
  double timeout_s = late_s;
  std::vector<std::string> paper = {};  // settings
  gpu::Blocks blocks = gpu::Blocks::chosen;
  comm::Transport words = comm::Transport::shm;
  enum class Findings : std::uint8_t { fail, are_left } findings = Findings::fail;
};

// What the body returns is the rank's message.
using GpuBody = std::function<std::string(GpuRank& self)>;
std::vector<Outcome> run_gpus(int ranks, const GpuBody& body, const GpuRun& run = {});

// The device of a rank, for bodies that make their group themselves. Where LOCKSTEP_TEST_HARDWARE
// is nvidia, it is a GPU, and the settings of paper are left out.
std::unique_ptr<Device> gpu_on_paper(int rank, const GpuRun& run = {});

}  // namespace lockstep::test
