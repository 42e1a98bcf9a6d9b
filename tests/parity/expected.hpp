// What PyTorch computed (expected.py writes it), read with the engine's own reader, and the measure
// by which ours is compared with it.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep::test {

// One operation on one set of inputs. Names are those of expected.py: x, y, grad_y, grad_x, ….
struct Case {
  std::string operation;
  std::string name;
  std::map<std::string, Tensor> tensors;

  const Tensor& at(const std::string& tensor) const;
};

// All tensors of tests/parity/expected/<group>.safetensors.
std::map<std::string, Tensor> expected(const std::string& group, Device& device);
// The same, of a group of operations, case by case.
std::vector<Case> expected_cases(const std::string& group, Device& device);

// max |seen - truth| / max |truth|, over the whole tensor: an element that is the small rest of
// large terms has no accuracy of its own, in PyTorch neither. Where a tensor is zero but for
// rounding (the gradient of a normalised row of one element), its terms are some 1/√ε = 316 large,
// and that is the measure. NaN when anything is NaN, which no comparison lets pass.
double relative_error(const Tensor& seen, const Tensor& truth);

// What was compared: one tensor of one case, and how far PyTorch's own float32 is from the truth.
struct Measured {
  std::string operation, name;
  double error;
  double error_of_torch_float32;
};

}  // namespace lockstep::test
