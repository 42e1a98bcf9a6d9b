#include "engine/nn/token_share.hpp"

#include <array>

#include "engine/autograd/operations.hpp"
#include "engine/tensor/rearrange.hpp"

namespace lockstep::nn {

Tensor tokens_at(const Tensor& samples, const Positions& positions) {
  const auto [early, late] = positions;
  if (early.first == 0 && early.count == samples.size(1)) return samples;
  const Tensor front = ops::narrow(samples, 1, early.first, early.count);
  if (late.count == 0) return front;
  const std::array parts{front, ops::narrow(samples, 1, late.first, late.count)};
  return ops::concatenate(parts, 1);
}

Value rows_at(Tape& tape, const Value& table, const Positions& positions) {
  const auto [early, late] = positions;
  if (early.first == 0 && early.count == table.tensor.size(0)) return table;
  const Value front = autograd::narrow(tape, table, 0, early.first, early.count);
  if (late.count == 0) return front;
  const std::array parts{front, autograd::narrow(tape, table, 0, late.first, late.count)};
  return autograd::concatenate(tape, parts, 0);
}

}  // namespace lockstep::nn
