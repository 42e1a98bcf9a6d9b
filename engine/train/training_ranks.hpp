// The ranks that train, by their places on the axes of the run. A strategy takes its groups from
// here, so that none knows in which order ranks are numbered.
#pragma once

#include <memory>

#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::train {

// A value: copies share the groups. What is made of it must not outlive the trainers' group.
class TrainingRanks {
 public:
  // Every rank that trains has a replica of its own: all are on the axis dp.
  TrainingRanks(comm::ProcessGroup& all);  // NOLINT(google-explicit-constructor): the usual case
  // Every rank of `all` calls this with the same sizes.
  //   Comm    a split for dp, unless all are on it, and one for tp
  //   Throws  ContractError when the sizes do not make the group
  TrainingRanks(comm::ProcessGroup& all, const mesh::AxisSizes& sizes);

  // All that train. They are more than the replicas where several ranks work on one replica.
  comm::ProcessGroup& trainers() const { return *trainers_; }
  // Those that hold what this rank holds, and read other shares: they differ in dp alone. Means of
  // gradients are over them.
  comm::ProcessGroup& replicas() const { return replicas_ ? *replicas_ : *trainers_; }

  // Those that compute each layer together: they differ in tp alone. None where tp is 1.
  comm::ProcessGroup* layer() const { return layer_.get(); }

  // The time of collectives inside layers on this rank since the last call.
  collectives::Communication take_layer_communication() const;

  const mesh::AxisSizes& sizes() const { return sizes_; }
  const mesh::Coordinates& at() const { return at_; }
  int share() const { return at_.dp; }      // d, of a global batch
  int shares() const { return sizes_.dp; }  // D

  // A new group, of the ranks that differ on these axes alone. Every rank calls it.
  //   Comm  a split of the trainers
  std::unique_ptr<comm::ProcessGroup> along(mesh::AxisSet axes) const;

 private:
  comm::ProcessGroup* trainers_;
  mesh::AxisSizes sizes_;
  mesh::Coordinates at_;
  std::shared_ptr<comm::ProcessGroup> replicas_;           // where they are not all that train
  std::shared_ptr<collectives::Communication> in_layers_;  // of layer_, which is timed
  std::shared_ptr<comm::ProcessGroup> layer_;
};

}  // namespace lockstep::train
