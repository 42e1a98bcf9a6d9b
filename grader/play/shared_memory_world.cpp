// A real world: the ranks are processes that talk through the memory they share, as the Gloo
// backend does on one host. They meet in a folder that the judge names as the program's first
// argument; of what they say to each other it sees nothing.
#include <fstream>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/file_store.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {
namespace {

// The words of the command line are separated by bytes of value 0.
std::string meeting_place() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string program, place;
  std::getline(in, program, '\0');
  std::getline(in, place, '\0');
  if (place.empty()) throw Error("this player was told of no place where its ranks meet");
  return place;
}

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_world(sim::PlayerCase& played) {
  if (played.ranks == 1) return comm::make_solo_group();
  const auto store = comm::open_file_store(meeting_place() + "/store");
  return comm::make_shm_group(*store, played.rank, played.ranks);
}

}  // namespace lockstep::grader
