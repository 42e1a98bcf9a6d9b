// Parameters whose gradients the judge made, for the parts that combine the gradients of ranks:
// how they travel, how an adapter holds them, and what it reports of them.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "engine/base/random.hpp"

namespace lockstep::grader {

struct Gradients {
  DType dtype = DType::float32;
  std::uint64_t allocation_seed = 0;   // differs per rank: the order of addresses is no order
  std::vector<std::int64_t> sizes;     // elements of each parameter
  std::vector<std::uint8_t> has_grad;  // the same on every rank
  std::vector<Bytes> grads;            // this rank's; empty without gradient
};

inline void write(ByteWriter& out, const Gradients& gradients) {
  out.put(gradients.dtype).put(gradients.allocation_seed);
  out.put_list(std::span<const std::int64_t>(gradients.sizes));
  out.put_list(std::span<const std::uint8_t>(gradients.has_grad));
  for (const Bytes& grad : gradients.grads) out.put_bytes(grad);
}

inline Bytes read_copy(ByteReader& in) {
  const auto bytes = in.get_bytes();
  return {bytes.begin(), bytes.end()};
}

inline Gradients read_gradients(ByteReader& in) {
  Gradients gradients;
  gradients.dtype = in.get<DType>();
  gradients.allocation_seed = in.get<std::uint64_t>();
  gradients.sizes = in.get_list<std::int64_t>();
  gradients.has_grad = in.get_list<std::uint8_t>();
  for (std::size_t i = 0; i < gradients.sizes.size(); ++i) {
    gradients.grads.push_back(read_copy(in));
  }
  return gradients;
}

// Weights have two dimensions, biases one: here what can be divided into eight rows has two.
inline Shape shape_of_parameter(std::int64_t size) {
  if (size % 8 == 0) return {8, size / 8};
  return {size};
}

// What became of one parameter.
struct GradientReport {
  bool defined = false;
  DType dtype = DType::float32;     // of the gradient
  std::vector<std::int64_t> shape;  // of the gradient
  Bytes grad, value;
};

inline GradientReport read_gradient_report(ByteReader& in) {
  GradientReport report;
  report.defined = in.get<std::uint8_t>() != 0;
  report.dtype = in.get<DType>();
  report.shape = in.get_list<std::int64_t>();
  report.grad = read_copy(in);
  report.value = read_copy(in);
  return report;
}

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
      parameter.value = full(shape, 1.0, from.dtype, device, MemoryKind::parameters);
      if (!from.has_grad[i]) continue;
      parameter.grad = empty(shape, from.dtype, device, MemoryKind::gradients);
      if (from.grads[i].empty()) continue;
      std::memcpy(parameter.grad.raw_bytes().data(), from.grads[i].data(), from.grads[i].size());
    }
  }

  std::vector<Parameter*> list() const {
    std::vector<Parameter*> all;
    for (const auto& parameter : owned_) all.push_back(parameter.get());
    return all;
  }

  void report(ByteWriter& out) const {
    for (const auto& parameter : owned_) {
      const Tensor& grad = parameter->grad;
      out.put(static_cast<std::uint8_t>(grad.defined()));
      out.put(grad.defined() ? grad.dtype() : DType::float32);
      std::vector<std::int64_t> shape;
      if (grad.defined()) shape.assign(grad.shape().begin(), grad.shape().end());
      out.put_list(std::span<const std::int64_t>(shape));
      out.put_bytes(grad.defined() ? grad.raw_bytes() : std::span<std::byte>{});
      out.put_bytes(parameter->value.raw_bytes());
    }
  }

 private:
  std::vector<std::unique_ptr<Parameter>> owned_;
};

}  // namespace lockstep::grader
