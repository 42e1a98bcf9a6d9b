// Parameters whose gradients the judge made, for the parts that combine the gradients of ranks:
// how they travel, how an adapter holds them, and what it reports of them.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/base/dtype.hpp"
#include "engine/base/fields.hpp"
#include "engine/base/random.hpp"
#include "grader/play/case_world.hpp"

namespace lockstep::grader {

struct Gradients {
  DType dtype = DType::float32;
  std::uint64_t allocation_seed = 0;   // differs per rank: the order of addresses is no order
  std::vector<std::int64_t> sizes;     // elements of each parameter
  std::vector<std::uint8_t> has_grad;  // the same on every rank
  std::vector<Bytes> grads;            // this rank's; empty without gradient
  std::vector<DType> dtypes{};         // of each parameter, where they differ; else `dtype`

  DType dtype_of(std::size_t i) const { return dtypes.empty() ? dtype : dtypes.at(i); }
};

template <typename Archive>
void fields(Archive& archive, Gradients& gradients) {
  archive(gradients.dtype, gradients.allocation_seed, gradients.sizes, gradients.has_grad,
          gradients.grads, gradients.dtypes);
}

// Weights have two dimensions or three, biases one, a temperature none: the size decides.
inline Shape shape_of_parameter(std::int64_t size) {
  if (size == 1) return {};
  if (size > 0 && size % 24 == 0) return {2, 3, size / 6};
  if (size > 0 && size % 12 == 0) return {3, size / 3};
  if (size % 8 == 0) return {8, size / 8};
  return {size};
}

// A report on one parameter.
struct GradientReport {
  bool defined = false;
  DType dtype = DType::float32;     // of the gradient
  std::vector<std::int64_t> shape;  // of the gradient
  Bytes grad, value;
};

template <typename Archive>
void fields(Archive& archive, GradientReport& report) {
  archive(report.defined, report.dtype, report.shape, report.grad, report.value);
}

// The reports on all parameters of a rank.
using GradientReports = std::vector<GradientReport>;

// The parameters themselves. Values are 1.
class HeldParameters {
 public:
  HeldParameters(const Gradients& from, Device& device) : owned_(from.sizes.size()) {
    const auto count = static_cast<std::int64_t>(from.sizes.size());
    for (const std::int64_t at : random_permutation(count, from.allocation_seed)) {
      const auto i = static_cast<std::size_t>(at);
      owned_[i] = std::make_unique<Parameter>();
      Parameter& parameter = *owned_[i];
      parameter.name = text("parameter ", i);
      const Shape shape = shape_of_parameter(from.sizes[i]);
      const DType dtype = from.dtype_of(i);
      parameter.value = full(shape, 1.0, dtype, device, MemoryKind::parameters);
      if (!from.has_grad[i]) continue;
      parameter.grad = empty(shape, dtype, device, MemoryKind::gradients);
      write_bytes(parameter.grad, from.grads[i]);
    }
  }

  std::vector<Parameter*> list() const {
    std::vector<Parameter*> all;
    for (const auto& parameter : owned_) all.push_back(parameter.get());
    return all;
  }

  GradientReports report() const {
    GradientReports all;
    for (const auto& parameter : owned_) {
      GradientReport& report = all.emplace_back();
      report.value = copy_of(parameter->value);
      const Tensor& grad = parameter->grad;
      report.defined = grad.defined();
      if (!grad.defined()) continue;
      report.dtype = grad.dtype();
      report.shape.assign(grad.shape().begin(), grad.shape().end());
      report.grad = copy_of(grad);
    }
    return all;
  }

 private:
  std::vector<std::unique_ptr<Parameter>> owned_;
};

}  // namespace lockstep::grader
