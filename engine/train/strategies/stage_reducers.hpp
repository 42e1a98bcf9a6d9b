// Means of a stage's gradients while its passes go on: one reducer of what all replicas hold, and
// one of experts that ranks share. These have fewer holders, but the mean is over as many ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/parallel/ddp/assign_buckets.hpp"
#include "engine/parallel/ddp/reducer.hpp"
#include "engine/train/layout.hpp"
#include "engine/train/training_ranks.hpp"

namespace lockstep::train {

class StageReducers {
 public:
  //   parameters  of the stage, in the order in which their gradients come, from the last on; they
  //               and `hook` must outlive this, and so must the groups of `ranks`
  StageReducers(const TrainingRanks& ranks, const std::vector<Parameter*>& parameters,
                const Layout& layout, const ddp::BucketLimits& limits, collectives::CommHook& hook);

  void on_gradient_ready(std::size_t index);  // of `parameters`
  void finalize();
  std::int64_t bytes_sent_for_experts() const;

 private:
  comm::ProcessGroup& holders_;
  std::unique_ptr<ddp::Reducer> dense_, experts_;  // none: there are no such experts
  // The reducer of each parameter, and its place there.
  std::vector<std::pair<ddp::Reducer*, std::size_t>> places_;
};

}  // namespace lockstep::train
