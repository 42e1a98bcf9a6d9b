// Plays rank0_checkpoint on the judge's storage: writes one file, or takes a rank's acts of a life.
#include "grader/parts/17_fault_tolerance/rank0_checkpoint/case.hpp"

#include "grader/play/life_play.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {
namespace {

// Only the writer is given what there is to save.
Bytes live(const LifeCase& life, sim::PlayerCase& played) {
  return play_life(life, played, [&](auto& group, auto& storage, const HeldState& held) {
    if (group.rank() != life.writer) {
      return checkpoint::save_from_one(group, life.writer, storage, {}, {}, {});
    }
    checkpoint::save_from_one(group, life.writer, storage, held.contents(), held.state(),
                              {.keep_last = life.keep_last});
  });
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<Rank0Case>(played.input);
  if (!c.file.empty()) {
    ServedStorage storage(played.port);
    return fields_to_bytes(ending_of<checkpoint::CheckpointError>(
        [&] { checkpoint::write_whole(storage, c.file, c.content); }));
  }
  if (c.peer == Peer::stays) return live(c.life, played);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& here, Bytes& kept) {
    kept.push_back({});  // so the judge looks at the storage when the part throws
    live(c.life, here);
  });
}

}  // namespace lockstep::grader
