// A model of five units with numbers in float64, and what each rank does with it.
#pragma once

#include <vector>

#include "engine/parallel/zero/sharded_units.hpp"

namespace lockstep::test {

inline nn::ModelSpec small_gpt(nn::OutputHead head) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 3, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11};
  spec.gpt.head = head;
  return spec;
}

// Other samples on each rank.
inline Value loss_of(nn::Chain& model, Tape& tape, int rank, Device& device) {
  std::vector<double> tokens;
  for (int i = 0; i < 12; ++i) tokens.push_back((5 * i + 3 * rank) % 11);
  const Tensor batch = from_values(tokens, {2, 6}, DType::int64, device);
  return autograd::cross_entropy(tape, model.forward(tape, tape.constant(batch)), batch);
}

inline void pass(zero::ShardedUnits& units, int rank, Device& device,
                 zero::Reduces reduces = zero::Reduces::yes) {
  units.begin(reduces);
  Tape tape(GradMode::record);
  tape.backward(loss_of(units.model(), tape, rank, device));
  units.end_backward();
}

}  // namespace lockstep::test
