// A real world: the ranks are processes that talk through the memory they share, as the Gloo
// backend does on one host.
#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"
#include "grader/play/meeting_place.hpp"
#include "grader/play/part.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

std::unique_ptr<CaseDevice> make_case_device(const sim::PlayerCase&) {
  return std::make_unique<PoisonedCase>();
}

std::unique_ptr<comm::ProcessGroup> make_world(sim::PlayerCase& played) {
  if (played.ranks == 1) return comm::make_solo_group();
  const auto store = comm::open_file_store(meeting_place() + "/store");
  return comm::make_shm_group(*store, played.rank, played.ranks);
}

}  // namespace lockstep::grader
