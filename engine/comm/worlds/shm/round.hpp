// One collective call as its two implementations see it: this rank's tensors as bytes, everybody's
// records, and the steps by which the ranks keep together.
#pragma once

#include <cstring>

#include "engine/comm/worlds/shm/collectives.hpp"

namespace lockstep::comm::shm {

class Round {
 public:
  Round(Collectives& collectives, const Call& call, Manner manner)
      : membership(collectives.membership_),
        c(call.collective),
        number(call.number),
        rank(membership.rank()),
        size(membership.size()),
        width(static_cast<std::int64_t>(bytes_of(c.dtype()))),
        input(c.input.defined() ? c.input.raw_bytes().data() : nullptr),
        output(c.output.defined() ? c.output.raw_bytes().data() : nullptr),
        mine(write_record(membership.control(), rank, size, call)),
        collectives_(collectives),
        manner_(manner) {}

  // Says where this rank's input is; small data are copied to where peers find them. False: they
  // are neither there nor in an arena, so the first piece is to be staged now.
  bool bring_input() {
    const std::size_t bytes = c.input.bytes();
    if (bytes <= inline_bytes) {
      if (bytes > 0) std::memcpy(membership.inline_slot(rank, number), input, bytes);
      mine.input_placement = Placement::inlined;
      return true;
    }
    mine.input_placement = placement_of(input, bytes, mine.input);
    return mine.input_placement == Placement::direct;
  }
  void want_output() {
    mine.output_placement = placement_of(output, c.output.bytes(), mine.output);
  }

  // Says that this rank has come, and waits for all. Throws Disagreement.
  void arrive() {
    collectives_.arrival_ = collectives_.phase_ + 1;
    publish();
    await();
    std::string what = disagreement(membership.control(), rank, size, membership.names(), number);
    if (!what.empty()) throw Disagreement{std::move(what)};
  }
  void publish() {
    ++collectives_.phase_;
    membership.peer_watch().publish();
  }
  void await() { membership.peer_watch().await(collectives_.phase_, manner_); }

  // To be called at the end. A rank whose call failed has its tensors back, and may have written to
  // one that this rank or another one still read: then this call has failed, too.
  void check_lenders() const {
    const Control& control = membership.control();
    for (int other = 0; other < size; ++other) {
      if (other == rank || record(other).input_placement != Placement::direct) continue;
      const RankLine& line = control.line(other);
      if ((line.phase.load() & has_failed) == 0 || line.finished.load() >= number) continue;
      throw Lost{Lost::Reason::failed, other};
    }
  }
  // To be called when the call fails here. A peer that is slow may still read and write this rank's
  // tensors in the arena, so their memory stays as long as there are peers.
  void hold_lent() const {
    if (mine.input_placement == Placement::direct) membership.hold_to_end(mine.input);
    if (mine.output_placement == Placement::direct) membership.hold_to_end(mine.output);
  }

  const SharedCallRecord& record(int of) const { return membership.control().record(of, number); }
  // A tensor in an arena, by the offset in its record.
  std::byte* direct(std::uint64_t offset) const { return membership.segment().at(offset); }
  const std::byte* inlined(int of) const { return membership.inline_slot(of, number); }
  // The slot of the call's piece-th piece.
  std::byte* slot(int of, std::int64_t piece) const {
    return membership.slot(of, collectives_.piece_ + static_cast<std::uint64_t>(piece));
  }
  void used_slots(std::int64_t pieces) {
    collectives_.piece_ += static_cast<std::uint64_t>(pieces);
  }

  Membership& membership;
  const Collective& c;
  const std::uint64_t number;
  const int rank, size;
  const std::int64_t width;  // bytes of an element
  const std::byte* const input;
  std::byte* const output;
  SharedCallRecord& mine;

 private:
  Placement placement_of(const std::byte* data, std::size_t bytes, std::uint64_t& offset) const {
    const auto found = membership.segment().offset_of(data, bytes);
    if (!found) return Placement::staged;
    offset = *found;
    return Placement::direct;
  }

  Collectives& collectives_;
  Manner manner_;
};

void run_reduction(Round& round);  // reduce, all_reduce, reduce_scatter
void run_movement(Round& round);   // all others

}  // namespace lockstep::comm::shm
