// The tokens of a sample that a rank has, where ranks share each sequence.
// B batch, T tokens, C width.
#pragma once

#include <functional>
#include <vector>

#include "engine/autograd/tape.hpp"
#include "engine/tensor/positions.hpp"

namespace lockstep::nn {

struct TokenShare {
  // The positions of the rank's tokens among those of a sample of `length`. None: it has all.
  std::function<Positions(std::int64_t length)> positions = nullptr;

  bool whole() const { return positions == nullptr; }
  Positions of(std::int64_t length) const {
    return whole() ? Positions{{0, length}} : positions(length);
  }
};

// These two pick what stands at given positions: tokens of each sample [B, T], rows of a table
// [T, C].
Tensor tokens_at(const Tensor& samples, const Positions& positions);
Value rows_at(Tape& tape, const Value& table, const Positions& positions);

}  // namespace lockstep::nn
