#include "engine/train/own_labels.hpp"

#include <array>
#include <utility>

#include "engine/nn/layer_maker.hpp"

namespace lockstep::train {

nn::TokenShare labels_of(const nn::ModelSpec& spec) {
  return spec.layers ? spec.layers->labels() : nn::TokenShare{};
}

OwnLabels::OwnLabels(const data::Dataset& dataset, nn::TokenShare share)
    : dataset_(dataset), share_(std::move(share)) {}

data::Batch OwnLabels::batch(std::span<const std::int64_t> indices, DType dtype,
                             Device& device) const {
  data::Batch batch = dataset_.batch(indices, dtype, device);
  if (!share_.whole()) batch.labels = nn::tokens_at(batch.labels, share_.of(batch.labels.size(1)));
  return batch;
}

Evaluation of_all_tokens(comm::ProcessGroup& sequence, const OwnLabels& own, const Evaluation& mine,
                         Device& host) {
  const auto labels = static_cast<double>(own.own_labels());
  const std::array sums{mine.loss * labels, mine.accuracy * labels, labels};
  const Tensor all = from_values(sums, {3}, DType::float64, host);
  sequence.all_reduce(all, ReduceOp::sum);
  return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
}

}  // namespace lockstep::train
