// ZeRO 1 of a stage: what all replicas hold is sharded among them, and experts that ranks share
// among those that hold the same ones.
#pragma once

#include <optional>
#include <vector>

#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/train/layout.hpp"
#include "engine/train/training_ranks.hpp"

namespace lockstep::train {

class StageShards {
 public:
  //   parameters  of the stage, which stay whole; they and the groups of `ranks` must outlive this
  StageShards(const TrainingRanks& ranks, const std::vector<Parameter*>& parameters,
              const Layout& layout, DType dtype, Device& device);

  std::vector<Parameter*> shards();
  Layout owned();
  void zero_grad();
  // The means of this rank's shards, of what its parameters' gradients have become.
  void end_backward();
  void end_update();
  // Since the last zero_grad.
  collectives::Communication communication() const;
  std::int64_t bytes_sent_for_experts() const;

  // This rank's shards of the gradient: those that it counts in the norm, and copies. Each element
  // is counted on one rank of all that hold its stage.
  void add_gradients(std::vector<Tensor>& counted, std::vector<Tensor>& copies) const;

 private:
  // Units that the same ranks share, and who holds each.
  struct Group {
    Group(const TrainingRanks& ranks, const Layout& layout, comm::ProcessGroup& shards,
          const std::vector<Parameter*>& parameters, DType dtype, Device& device);
    std::vector<bool> counts;  // of each unit, whether this rank counts it
    zero::ShardedUnits units;
  };

  Layout layout_;
  comm::ProcessGroup& holders_;
  std::vector<Parameter*> of_experts_;
  double share_of_experts_;  // of the mean over those that hold an expert, in that over all
  Group dense_;
  std::optional<Group> experts_;
};

}  // namespace lockstep::train
