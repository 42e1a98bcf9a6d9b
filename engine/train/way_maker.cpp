#include "engine/train/way_maker.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {

const TrainingRanks& Making::ranks() {
  if (!placed) placed = axes ? TrainingRanks(group, *axes) : TrainingRanks(group);
  return *placed;
}

std::unique_ptr<Strategy> WayMaker::make(Making&) const {
  throw ContractError("this way makes no strategy; it belongs into another slot");
}

WayMaker::Layers WayMaker::make_layers(Making&, Layers) const {
  throw ContractError("this way makes no layers; it belongs into another slot");
}

WayMaker::Layers WayMaker::make_layers(const Arguments&, const nn::ModelSpec&, comm::ProcessGroup&,
                                       Layers) const {
  throw ContractError("this way makes no layers; it belongs into another slot");
}

std::unique_ptr<collectives::CommHook> WayMaker::make_hook(const Arguments&, std::uint64_t) const {
  throw ContractError("this way makes no hook; it belongs into another slot");
}

}  // namespace lockstep::train
