// Computes what quantize_int8 must return: codes and scales in float64.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "grader/exam/lossy/rules.hpp"

namespace lockstep::grader::quantize_int8 {

// The places of a tensor's chunks.
struct Chunks {
  std::int64_t count = 0;  // elements of the tensor
  int ranks = 1;
  std::int64_t chunk = 1;

  std::int64_t part() const { return (count + ranks - 1) / ranks; }
  // First element of the chunk of element i, and the one behind its last: chunks count from the
  // border of a part.
  std::pair<std::int64_t, std::int64_t> around(std::int64_t i) const {
    const std::int64_t from = i / part() * part();
    const std::int64_t begin = from + (i - from) / chunk * chunk;
    return {begin, std::min({begin + chunk, from + part(), count})};
  }
};

// The sum of one call, if each element is the nearest multiple of its scale wherever it travels.
// Exact where quotients are far enough from halves.
Numbers nearest_multiples(const std::vector<Numbers>& gradients, const Chunks& chunks);
// The same if the owner of a part adds its own elements as they are, and the others' decoded.
Numbers own_part_as_it_is(const std::vector<Numbers>& gradients, const Chunks& chunks);
// The sum of the decoded tensors, before it is quantised once more.
Numbers sum_of_decoded(const std::vector<Numbers>& gradients, const Chunks& chunks);
// Mistakes of every sum: not reduced, of the call before.
std::vector<Mistake<Numbers>> mistakes_of_sum(const LossySeen& seen, std::size_t call,
                                              const Numbers& sum);

// The exact sum, within half a scale of each rank and half a scale of the sum, and the roundings of
// float32. Where a chunk is not finite on any rank, NaN.
Right right_sum(const LossySeen& seen, std::size_t call, const Chunks& chunks);

// Allows for one rounding of each result to `dtype`.
void round_result(Right& right, DType dtype);

}  // namespace lockstep::grader::quantize_int8
