// Where a program computes: the host's processor, a GPU, or the GPU's kernels on paper.
#pragma once

#include <memory>

#include "engine/base/options.hpp"
#include "engine/tensor/device.hpp"

namespace lockstep::apps {

// The options --device and --paper.
Options& add_device(Options& options);
// Whether the run computes on a GPU: --device cuda, or --backend nccl where there is that option.
bool uses_gpu(const Arguments& arguments);

// A rank among those of its machine, each of which takes the GPU of its number.
struct Seat {
  int rank = 0, ranks = 1;
};
// This process's, as its launcher says; one of one where nobody launched it.
Seat seat_of_process();

// What lacks for `ranks` ranks on this machine is said before any of them is started; nothing where
// they compute on the CPU.
//   Throws  Lacking, with both ways out
void check_gpus(const Arguments& arguments, int ranks);

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
