// The world of the judge: it is the network, and sees every operation.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "grader/play/part.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

std::unique_ptr<CaseDevice> make_case_device(const sim::PlayerCase&) {
  return std::make_unique<PoisonedCase>();
}

std::unique_ptr<comm::ProcessGroup> make_world(sim::PlayerCase& played) {
  return comm::make_sim_group(played.port, played.rank, played.ranks, comm::PostedRoom::scribbled);
}

}  // namespace lockstep::grader
