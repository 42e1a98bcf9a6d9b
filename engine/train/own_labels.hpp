// Evaluation where ranks share sequences: a rank counts the labels of its own tokens, and the ranks
// add up sums.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/nn/token_share.hpp"
#include "engine/train/evaluate.hpp"

namespace lockstep::train {

// The labels whose logits a model makes on this rank.
nn::TokenShare labels_of(const nn::ModelSpec& spec);

// A dataset whose labels are those of a rank's own tokens; inputs are whole. `dataset` must outlive
// it.
class OwnLabels final : public data::Dataset {
 public:
  OwnLabels(const data::Dataset& dataset, nn::TokenShare share);
  std::int64_t size() const override { return dataset_.size(); }
  std::int64_t inputs() const override { return dataset_.inputs(); }
  // The labels of a whole sample, so that ranks that share sequences read as many samples at once.
  std::int64_t labels() const override { return dataset_.labels(); }
  std::int64_t own_labels() const { return share_.of(dataset_.labels()).count(); }
  std::int64_t classes() const override { return dataset_.classes(); }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override;

 private:
  const data::Dataset& dataset_;
  nn::TokenShare share_;
};

// The evaluation of all tokens, from that of each rank's own.
//   Comm  one all-reduce of three float64
Evaluation of_all_tokens(comm::ProcessGroup& sequence, const OwnLabels& own, const Evaluation& mine,
                         Device& host);

}  // namespace lockstep::train
