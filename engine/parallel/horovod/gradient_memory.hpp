// Shared memory in which a rank's gradients lie side by side. Backward makes them there
// (Parameter::grad_place), so gradients that travel together, in the order of their places,
// are one tensor already. Horovod copies them into a buffer, and back after the sum.
//
// Gradients come roughly in the opposite order of registration, so that is the order of places.
// Which gradients lie side by side is this rank's own affair: what is not together is copied, and
// no other rank sees a difference.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::horovod {

class GradientMemory {
 public:
  GradientMemory() = default;  // none
  // For each parameter that has no place yet, where the ranks of the group read each other's memory
  // (comm::Averaging::within); in other groups none.
  //   parameters  must outlive this, which takes the places back
  GradientMemory(comm::ProcessGroup& group, std::span<Parameter* const> parameters);
  ~GradientMemory();
  GradientMemory(GradientMemory&& other) noexcept = default;
  GradientMemory& operator=(GradientMemory&& other) noexcept = default;

  // The places of these gradients as one tensor; undefined unless each begins where the one before
  // it ends.
  Tensor side_by_side(std::span<const std::string> names) const;

 private:
  struct Place {
    DType dtype;
    std::int64_t start, count;  // elements
  };
  std::vector<Parameter*> parameters_;
  std::map<std::string, Place> places_;
  std::map<DType, Tensor> memory_;  // [elements of all places]
};

}  // namespace lockstep::horovod
