// The case format of average_gradients, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/dtype.hpp"
#include "grader/players/part.hpp"

namespace lockstep::grader {

struct GradientCase {
  GroupChoice group;
  DType dtype = DType::float32;
  std::uint64_t allocation_seed = 0;   // differs per rank: the order of addresses is no order
  std::vector<std::int64_t> sizes;     // elements of each parameter
  std::vector<std::uint8_t> has_grad;  // the same on every rank
  std::vector<Bytes> grads;            // this rank's; empty without gradient
};

inline Bytes encode(const GradientCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.dtype).put(c.allocation_seed);
  out.put_list(std::span<const std::int64_t>(c.sizes));
  out.put_list(std::span<const std::uint8_t>(c.has_grad));
  for (const Bytes& grad : c.grads) out.put_bytes(grad);
  return out.take();
}

inline GradientCase decode_gradient_case(ByteReader& in) {
  GradientCase c;
  c.group = read_group_choice(in);
  c.dtype = in.get<DType>();
  c.allocation_seed = in.get<std::uint64_t>();
  c.sizes = in.get_list<std::int64_t>();
  c.has_grad = in.get_list<std::uint8_t>();
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    const auto part = in.get_bytes();
    c.grads.emplace_back(part.begin(), part.end());
  }
  return c;
}

}  // namespace lockstep::grader
