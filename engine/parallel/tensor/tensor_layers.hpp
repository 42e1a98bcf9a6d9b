// Makes the layers of a transformer for the ranks of a tensor-parallel group. Each rank holds its
// shares of the dense weights (cuts.hpp), with the same numbers, and computes with them by the
// parts of this room.
//   t ranks of the group, B batch, T tokens, C width, V vocabulary
//
// Between the layers, x is [B, T, C], the same on every rank; with Sequence::sliced it is this
// rank's slice [B, T/t, C], and norms, dropout and residuals are computed once in the group.
// Source: [SPP19] §3, [KCL22] §4.2.2
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/comm/process_group.hpp"
#include "engine/nn/gpt.hpp"
#include "engine/nn/layer_maker.hpp"

namespace lockstep::tensor_parallel {

enum class Sequence : std::uint8_t { whole, sliced };

// Counts the collectives of [B, T, C] of a batch, forward and backward, in all layers of a model:
// all-reduces, or of sliced sequences all-gathers and reduce-scatters. Those of experts are
// smaller, and not among them.
std::int64_t collectives_of_pass(const nn::GptOptions& model, Sequence sequence);

class TensorLayers : public nn::LayerMaker {
 public:
  //   group  must outlive the layers that are made
  TensorLayers(comm::ProcessGroup& group, Sequence sequence) : group_(group), sequence_(sequence) {}

  // With Sequence::sliced, the gradients of what every rank has whole are partial: each has the
  // terms of its own tokens.
  nn::Holding holding_of(const Parameter& parameter) const override;
  // In one all-reduce (sequence_parallel_region.hpp).
  void sum_partial_gradients(std::span<Parameter* const> parameters) const override;
  nn::TokenShare tokens() const override;
  //   Throws  ContractError when ranks do not divide the heads
  std::unique_ptr<nn::Module> attention(const std::string& name, std::int64_t width,
                                        std::int64_t heads, const nn::Deviations& deviations,
                                        const nn::Made& made) const override;
  //   Throws  ContractError when they do not divide the hidden width
  std::unique_ptr<nn::Module> feed_forward(const std::string& name, std::int64_t width,
                                           std::int64_t hidden, const nn::Deviations& deviations,
                                           const nn::Made& made) const override;
  // With rows of padding, which are 0 and stay it.
  Parameter table(const std::string& name, std::int64_t vocabulary, std::int64_t width,
                  double deviation, const nn::Made& made) const override;
  std::unique_ptr<nn::Module> embedding(Parameter& table) const override;
  std::unique_ptr<nn::Module> head(Parameter& table) const override;

 private:
  comm::ProcessGroup& group_;
  Sequence sequence_;
};

}  // namespace lockstep::tensor_parallel
