// The choice of where a program computes: on the host's processor, a GPU, or with the GPU's kernels
// on paper.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::apps {

// The options --device and --paper.
Options& add_device(Options& options);
// True if the run computes on a GPU: --device cuda, or --backend nccl where there is that option.
bool uses_gpu(const Arguments& arguments);

// The seat of a rank among those of its machine. It takes the GPU of that number.
struct Seat {
  int gpu = 0;
  std::vector<std::string> paper = {};  // settings, where the GPUs are modelled (gpu/open_gpu.hpp)
};

// How many GPUs CUDA shows, or paper models.
//   Throws  Lacking where there is none, with both ways out
int gpus_shown(const Arguments& arguments, const Seat& seat);

class Computing {
 public:
  // The device that the arguments choose.
  //   Throws  Lacking, with what is missing and both ways out
  explicit Computing(const Arguments& arguments, const Seat& seat = {});

  Device& device() const { return *device_; }
  // The end of a run on paper: waits for what was launched, and says so where paper has found
  // nothing wrong; what it has found it tells itself, when the process ends. Elsewhere nothing.
  //   Returns  whether all is well
  bool ends_well() const;

 private:
  std::unique_ptr<Device> device_;
  bool on_paper_;
};

}  // namespace lockstep::apps
