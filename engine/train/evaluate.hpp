// Loss and accuracy on a dataset, shared among the ranks.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::train {

struct Evaluation {
  double loss = 0;      // mean over all labels: one a sample, or one a token
  double accuracy = 0;  // 0 to 1, of the labels
};

// Rank r takes the samples r, r + N, …: each sample exactly once, without padding, so ranks may
// have unequal numbers of them, or none.
//   Ensures  the same values on all ranks; the model is prepared for evaluation
//   Comm     one all-reduce of three float64
//   Requires the dataset is not empty
Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset);

}  // namespace lockstep::train
