// Rows chosen by number, and elements dropped by chance.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.hpp"

namespace lockstep::ops {

// table [V, C], indices [...] int64 in [0, V) → [..., C]
Tensor embedding(const Tensor& table, const Tensor& indices);
// d/d(table) [V, C]: rows of grad [..., C] added where they came from, in the order of indices.
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t rows);

// Which elements stay: a function of (seed, sample, element in the sample) and of nothing else, so
// that any layout of ranks drops the same ones. Sample i of this rank's batch (its first axis) is
// number first_sample + i · sample_stride of the global batch.
struct DropoutMask {
  double rate = 0;         // share that is dropped, in [0, 1)
  std::uint64_t seed = 0;  // of this use: mixed from run, step and place in the model
  std::int64_t first_sample = 0;
  std::int64_t sample_stride = 1;
  // The first element of each sample here is this one of the whole sample: where a rank has a range
  // of every sample, such as a slice of a sequence, it drops what it would of the whole.
  std::int64_t first_element = 0;
  // From this index on, `jump` more: where a rank has two ranges of every sample.
  std::int64_t jump_at = 0, jump = 0;

  // The element of the whole sample that stands at an index of the sample here.
  constexpr std::uint64_t element(std::int64_t index) const {
    return static_cast<std::uint64_t>(first_element + index + (index < jump_at ? 0 : jump));
  }
};
// x where the element stays, divided by 1 - rate; 0 elsewhere. Its derivative is itself.
//   Source  [SHK14] §10 ("inverted" dropout, as PyTorch)
Tensor dropout(const Tensor& x, const DropoutMask& mask);

}  // namespace lockstep::ops
