// The world of the judge: it is the network, and sees every operation.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

class Simulated final : public PoisonedWorld {
 public:
  std::unique_ptr<comm::ProcessGroup> join(sim::PlayerCase& played) override {
    return comm::make_sim_group(played.port, played.rank, played.ranks,
                                comm::PostedRoom::scribbled);
  }
};

}  // namespace

std::unique_ptr<CaseWorld> make_case_world(const sim::PlayerCase&) {
  return std::make_unique<Simulated>();
}

}  // namespace lockstep::grader
