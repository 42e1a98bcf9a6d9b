// Loss and accuracy on a dataset, shared among the ranks.
//   N ranks of the group, T labels of one sample
//
// A mean of means is the mean only if all weights are equal. Here they are not, because N seldom
// divides the dataset. So the ranks exchange sums, and divide once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::train {

struct Evaluation {
  double loss = 0;      // mean over all labels: one a sample, or one a token
  double accuracy = 0;  // 0 to 1, of the labels
};

// The most samples in a forward pass of an evaluation: 4096 labels or 256 samples, whichever is
// less. It bounds the memory of activations, whatever the size of the dataset.
inline std::int64_t samples_at_once(const data::Dataset& dataset) {
  return std::clamp<std::int64_t>(4096 / dataset.labels(), 1, 256);
}

// Evaluates each sample exactly once, without padding, so ranks may have unequal numbers of
// them, or none. A part: defined in solutions/05_data_parallel.
//   model    its dtype and device are those of its parameters; before the first pass it is prepared
//            for evaluation (nn::Occasion), and nothing else in it changes
//   Ensures  one device's numbers (the loss up to rounding), the same bits on all ranks; a rank
//            reads at most ⌈samples/N⌉ samples, and at most samples_at_once of them in one batch;
//            no tape records for backward
//   Comm     one all-reduce of three float64: the sums of losses, of hits, and of labels
//   Requires the dataset is not empty
//   Throws   ContractError when it is; CommError
Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset);

}  // namespace lockstep::train
