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
  if (sizes.dp < all.size()) replicas_ = along({mesh::Axis::dp});
  if (sizes.tp == 1) return;
  in_layers_ = std::make_shared<collectives::Communication>();
  layer_ = collectives::make_timed_group(along({mesh::Axis::tp}), *in_layers_);
}

collectives::Communication TrainingRanks::take_layer_communication() const {
  if (!in_layers_) return {};
  return std::exchange(*in_layers_, {});
}

std::unique_ptr<comm::ProcessGroup> TrainingRanks::along(mesh::AxisSet axes) const {
  return mesh::split_along(*trainers_, sizes_, axes);
}

}  // namespace lockstep::train
