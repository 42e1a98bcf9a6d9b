// The ranks that train, by their places on the axes of the run. A strategy takes its groups from
// here, so that none knows in which order ranks are numbered.
#pragma once

#include <memory>

#include "engine/collectives/communication.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/parallel/mesh/axes.hpp"
#include "engine/parallel/mesh/train_3d.hpp"

namespace lockstep::train {

// A value: copies share the groups. What is made of it must not outlive the trainers' group.
class TrainingRanks {
 public:
  // Every rank that trains has a replica of its own: all are on the axis dp.
  TrainingRanks(comm::ProcessGroup& all);  // NOLINT(google-explicit-constructor): the usual case
  // Every rank of `all` calls this with the same sizes.
  //   Comm    a split for the replicas, unless all are, one for tp, two for cp, two more for ep
  //   Throws  ContractError when the sizes do not make the group
  TrainingRanks(comm::ProcessGroup& all, const mesh::AxisSizes& sizes);

  // All that train. They are more than the replicas where several ranks work on one replica.
  comm::ProcessGroup& trainers() const { return *trainers_; }
  // Those that hold what this rank holds, but for experts, and read other shares, or other tokens
  // of them: they differ in dp, ep and cp alone. Means of gradients are over them.
  comm::ProcessGroup& replicas() const { return replicas_ ? *replicas_ : *trainers_; }
  // Those of them that read other samples in an evaluation: they differ in dp alone. Ranks that
  // share sequences or experts compute the same ones there, so that they make as many passes.
  comm::ProcessGroup& readers() const { return readers_ ? *readers_ : replicas(); }

  // Those that compute each layer together: they differ in tp alone. None where tp is 1.
  comm::ProcessGroup* layer() const { return layer_.get(); }
  // Those that share each sequence: they differ in cp alone. None where cp is 1.
  comm::ProcessGroup* sequence() const { return sequence_.get(); }
  // Those that share the experts of each layer: they differ in ep alone. None where ep is 1.
  comm::ProcessGroup* experts() const { return experts_.get(); }
  // Those of the replicas that hold the same experts: they differ in dp and cp alone.
  comm::ProcessGroup& holders() const { return holders_ ? *holders_ : replicas(); }

  // The time of communication inside layers on this rank since the last call.
  collectives::Communication take_layer_communication() const;
  // The part of it, when it was taken last, in exchanges of ranks that share experts.
  collectives::Communication exchange() const;
  std::int64_t bytes_sent_in_layers() const;  // so far

  // True if this rank counts its elements in the norm of the gradient that its replica has
  // (train_3d.hpp). Replicas along cp take the norm apart, as those along dp do. Ranks that share
  // experts take it together.
  bool counts_in_norm(const mesh::GradientKind& gradient) const;
  // The same of a shard of a gradient, of which other replicas have the rest: they take the norm
  // together.
  bool counts_shard_in_norm(const mesh::GradientKind& gradient) const;

  const mesh::AxisSizes& sizes() const { return sizes_; }
  const mesh::Coordinates& at() const { return at_; }
  int share() const { return at_.dp * sizes_.ep + at_.ep; }  // d, of a global batch
  int shares() const { return sizes_.dp * sizes_.ep; }       // D

  // A new group, of the ranks that differ on these axes alone. Every rank calls it.
  //   Comm  a split of the trainers
  std::unique_ptr<comm::ProcessGroup> along(mesh::AxisSet axes) const;

 private:
  comm::ProcessGroup* trainers_;
  mesh::AxisSizes sizes_;
  mesh::Coordinates at_;
  std::shared_ptr<comm::ProcessGroup> replicas_;           // where they are not all that train
  std::shared_ptr<comm::ProcessGroup> readers_, holders_;  // where they are not all replicas
  struct InLayers {
    collectives::Communication others, experts, experts_taken;
  };
  std::shared_ptr<InLayers> in_layers_;  // of the next three, which are timed
  std::shared_ptr<comm::ProcessGroup> layer_, sequence_, experts_;
};

}  // namespace lockstep::train
