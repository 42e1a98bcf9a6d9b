// A real world: the ranks are processes that talk through the memory they share, as the Gloo
// backend does on one host.
#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"
#include "grader/play/meeting_place.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

class SharedMemory final : public PoisonedWorld {
 public:
  SharedMemory() : PoisonedWorld(SharesMemory::yes) {}
  std::unique_ptr<comm::ProcessGroup> join(sim::PlayerCase& played) override {
    if (played.ranks == 1) return comm::make_solo_group();
    const auto store = comm::open_file_store(meeting_place() + "/store");
    return comm::make_shm_group(*store, played.rank, played.ranks);
  }
};

}  // namespace

std::unique_ptr<CaseWorld> make_case_world(const sim::PlayerCase&) {
  return std::make_unique<SharedMemory>();
}

}  // namespace lockstep::grader
