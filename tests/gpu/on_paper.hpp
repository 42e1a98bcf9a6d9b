// A GPU on paper, for tests: the device, and what paper has found since the last time somebody
// asked. A process has one paper, so that findings of a test that ran before are left out.
//
// Where a GPU is, LOCKSTEP_TEST_HARDWARE=nvidia runs the same tests on it: their values are
// compared as on paper, and there are no findings. Tests that need paper have the tag [paper], and
// those that need the build's folder [build].
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/gpu/open_gpu.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

class OnPaper {
 public:
  // Settings of the test that ran before hold no longer.
  explicit OnPaper(std::vector<std::string> settings = {},
                   gpu::Blocks blocks = gpu::Blocks::chosen) {
    const char* const hardware = std::getenv("LOCKSTEP_TEST_HARDWARE");
    if (hardware != nullptr && std::string(hardware) == "nvidia") {
      if (blocks == gpu::Blocks::chosen) blocks = gpu::Blocks::returned;  // as on paper
      device_ = gpu::open_gpu({gpu::Hardware::nvidia, blocks});
      return;
    }
    settings.insert(settings.begin(),
                    {"seed=1", "grid_max=0", "counters=0", "fail_allocation=0", "fail_launch=0",
                     "fail_call=0", "skip_event_wait=0", "skip_wait=0", "move_launch=0"});
    device_ = gpu::open_gpu({gpu::Hardware::paper, blocks, std::move(settings)});
    before_ = gpu::paper_findings();
  }

  Device& device() const { return *device_; }
  // What was found since the device was opened. The device is waited for first.
  std::string findings() const {
    device_->settle();
    return since_opened();
  }
  // The device goes, as at the end of a run; what it had left is found then.
  std::string findings_at_the_end() {
    device_.reset();
    return since_opened();
  }

 private:
  std::string since_opened() const {
    const std::string all = gpu::paper_findings();
    return all.starts_with(before_) ? all.substr(before_.size()) : all;
  }

  std::unique_ptr<Device> device_;
  std::string before_;
};

}  // namespace lockstep::test
