#include "engine/train/way_maker.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {

TrainingRanks Making::ranks() const {
  return axes ? TrainingRanks(group, *axes) : TrainingRanks(group);
}

std::unique_ptr<Strategy> WayMaker::make(Making&) const {
  throw ContractError("this way makes no strategy; it belongs into another slot");
}

std::unique_ptr<collectives::CommHook> WayMaker::make_hook(const Arguments&, std::uint64_t) const {
  throw ContractError("this way makes no hook; it belongs into another slot");
}

}  // namespace lockstep::train
