#include "engine/train/training_ranks.hpp"

#include <utility>

#include "engine/parallel/mesh/axis_groups.hpp"

namespace lockstep::train {

TrainingRanks::TrainingRanks(comm::ProcessGroup& all)
    : trainers_(&all), sizes_{.dp = all.size()}, at_{.dp = all.rank()} {}

TrainingRanks::TrainingRanks(comm::ProcessGroup& all, const mesh::AxisSizes& sizes)
    : TrainingRanks(all) {
  if (sizes == sizes_) return;  // on thousands of ranks, no plan is made for what is known
  sizes_ = sizes;
  at_ = mesh::place_of(all, sizes);
  using mesh::Axis;
  if (sizes.dp * sizes.ep * sizes.cp < all.size()) replicas_ = along(mesh::data_axes);
  if (sizes.tp == 1 && sizes.cp == 1 && sizes.ep == 1) return;
  in_layers_ = std::make_shared<InLayers>();
  if (sizes.tp > 1) layer_ = collectives::make_timed_group(along({Axis::tp}), in_layers_->others);
  if (sizes.cp > 1 || sizes.ep > 1) readers_ = along({Axis::dp});
  if (sizes.cp > 1)
    sequence_ = collectives::make_timed_group(along({Axis::cp}), in_layers_->others);
  if (sizes.ep == 1) return;
  holders_ = along({Axis::dp, Axis::cp});
  experts_ = collectives::make_timed_group(along({Axis::ep}), in_layers_->experts);
}

collectives::Communication TrainingRanks::take_layer_communication() const {
  if (!in_layers_) return {};
  in_layers_->experts_taken = std::exchange(in_layers_->experts, {});
  collectives::Communication all = std::exchange(in_layers_->others, {});
  return all += in_layers_->experts_taken;
}

collectives::Communication TrainingRanks::exchange() const {
  return in_layers_ ? in_layers_->experts_taken : collectives::Communication{};
}

std::int64_t TrainingRanks::bytes_sent_in_layers() const {
  std::int64_t bytes = 0;
  for (const comm::ProcessGroup* group : {layer(), sequence(), experts()}) {
    if (group != nullptr) bytes += group->traffic().bytes_sent;
  }
  return bytes;
}

bool TrainingRanks::counts_in_norm(const mesh::GradientKind& gradient) const {
  mesh::Coordinates at = at_;
  at.cp = 0;
  return mesh::counts_in_norm(gradient, at);
}

bool TrainingRanks::counts_shard_in_norm(const mesh::GradientKind& gradient) const {
  mesh::Coordinates at = at_;
  at.cp = at.ep = 0;
  return mesh::counts_in_norm(gradient, at);
}

std::unique_ptr<comm::ProcessGroup> TrainingRanks::along(mesh::AxisSet axes) const {
  return mesh::split_along(*trainers_, sizes_, axes);
}

}  // namespace lockstep::train
