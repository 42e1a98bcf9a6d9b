// Plays sharded_checkpoint: reads boxes that the judge has, or takes a rank's acts of a life, in
// which it holds its boxes and nothing else.
#include <algorithm>

#include "grader/parts/17_fault_tolerance/sharded_checkpoint/case.hpp"
#include "grader/play/life_play.hpp"
#include "grader/play/lost_peer.hpp"

namespace lockstep::grader {
namespace {

BoxesReport read_boxes(const ShardedCase& c, sim::Port& port) {
  BoxesReport report;
  report.bytes.resize(static_cast<std::size_t>(numel_of(c.wanted)) * c.element_bytes);
  const auto read = [&](const checkpoint::Stretch& from, std::span<std::byte> part) {
    const auto answer = ask<BoxAnswer>(port, BoxCall{from.source, from.offset, from.length});
    if (!answer.damaged.empty()) throw checkpoint::CheckpointError(answer.damaged);
    if (answer.bytes.size() != part.size()) {
      throw Error(text("read_boxes gave `read` ", part.size(), " bytes for a stretch that has ",
                       answer.bytes.size()));
    }
    std::ranges::copy(answer.bytes, part.begin());
  };
  report.ending = ending_of<checkpoint::CheckpointError>(
      [&] { checkpoint::read_boxes(c.saved, c.wanted, c.element_bytes, read, report.bytes); });
  return report;
}

Bytes live(const LifeCase& life, sim::PlayerCase& played) {
  return play_life(life, played, [&](auto& group, auto& storage, const HeldState& held) {
    checkpoint::Contents share = held.contents();
    if (std::ranges::all_of(share.pieces, &Boxes::empty, &checkpoint::Piece::boxes))
      share.pieces = {};
    checkpoint::save_sharded(group, life.writer, storage, share, held.state(),
                             {.keep_last = life.keep_last});
  });
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  const auto c = read_fields<ShardedCase>(played.input);
  if (!c.saved.empty()) return fields_to_bytes(read_boxes(c, played.port));
  if (c.peer == Peer::stays) return live(c.life, played);
  return play_with_a_lost_peer(played, [&](sim::PlayerCase& here) { live(c.life, here); });
}

}  // namespace lockstep::grader
