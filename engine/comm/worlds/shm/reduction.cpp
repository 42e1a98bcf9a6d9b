// Reductions. Part c of the elements belongs to rank c, who reads it from everybody. With slots,
// piece p of all parts goes through at once:
//
//   a. The others' piece p of part c lies in their slots, at part c.
//   b. Rank c reduces it, into its own output, into outputs in arenas, and into its own slot at
//      part c (which it does not need for input of its own); then it stages piece p + 1.
//   c. When all have done so, everybody copies what it wants of piece p from the owners' slots.
//
// While some rank is still at c. of piece p, others may stage piece p + 2 and not more, since they
// wait for it after b. of piece p + 1: hence three slots.
#include <algorithm>

#include "engine/base/reduce.hpp"
#include "engine/comm/worlds/shm/round.hpp"

namespace lockstep::comm::shm {

namespace {

class Reduction {
 public:
  explicit Reduction(Round& round)
      : r_(round),
        scatters_(traits_of(round.c.kind).given == sim::Parts::each),
        rooted_(traits_of(round.c.kind).has_root()),
        total_(round.c.input.numel()),
        sources_(static_cast<std::size_t>(round.size)) {}

  void run() {
    const bool staged = !r_.bring_input();
    step_ = slot_step();
    if (r_.mine.input_placement == Placement::inlined) {
      r_.arrive();
      return reduce_inlined();
    }
    if (staged) stage(0);
    if (wants(r_.rank) && !scatters_) r_.want_output();
    r_.arrive();

    const bool through_slots = needs_slots();
    const std::int64_t longest = scatters_ ? total_ / r_.size : (total_ + r_.size - 1) / r_.size;
    if (!through_slots) step_ = longest;
    const std::int64_t pieces = (longest + step_ - 1) / step_;
    for (std::int64_t p = 0; p < pieces; ++p) {
      reduce(p);
      if (staged && p + 1 < pieces) stage(p + 1);
      r_.publish();
      // A rank that wants nothing more from the others, and whose input nobody reads, may go.
      const bool last = p + 1 == pieces;
      if (!last || !staged || (wants(r_.rank) && !scatters_)) r_.await();
      if (copies_out(r_.rank)) copy_out(p);
    }
    if (through_slots) r_.used_slots(pieces);
  }

 private:
  std::int64_t part_start(int part) const { return total_ * part / r_.size; }

  struct Range {
    std::int64_t start, count;  // elements
    std::int64_t bytes(std::int64_t width) const { return count * width; }
  };
  // Piece `piece` of part `part`, in the whole.
  Range range(int part, std::int64_t piece) const {
    const std::int64_t end = part_start(part + 1);
    const std::int64_t start = std::min(end, part_start(part) + piece * step_);
    return {start, std::min(end - start, step_)};
  }

  // Elements of each part in a slot: whole cache lines.
  std::int64_t slot_step() const {
    const auto bytes = static_cast<std::int64_t>(slot_bytes) / r_.size / 64 * 64;
    return bytes / r_.width;
  }
  std::byte* in_slot(int of, std::int64_t piece, int part) const {
    return r_.slot(of, piece) + part * step_ * r_.width;
  }

  bool wants(int rank) const { return !rooted_ || rank == r_.c.root; }
  bool copies_out(int rank) const {
    return wants(rank) && !scatters_ && r_.record(rank).output_placement != Placement::direct;
  }
  // Some rank other than `owner` takes its part from the owner's slot.
  bool copied_by_others(int owner) const {
    for (int other = 0; other < r_.size; ++other) {
      if (other != owner && copies_out(other)) return true;
    }
    return false;
  }
  bool needs_slots() const {
    for (int rank = 0; rank < r_.size; ++rank) {
      if (r_.record(rank).input_placement == Placement::staged || copies_out(rank)) return true;
    }
    return false;
  }

  void reduce_inlined() {
    if (!wants(r_.rank) || total_ == 0) return;
    const Range all = scatters_ ? Range{part_start(r_.rank), total_ / r_.size} : Range{0, total_};
    for (int rank = 0; rank < r_.size; ++rank) {
      const std::byte* const from = rank == r_.rank ? r_.input : r_.inlined(rank);
      sources_[static_cast<std::size_t>(rank)] = from + all.start * r_.width;
    }
    combine({&r_.output, 1}, all.count);
  }

  void stage(std::int64_t piece) {
    for (int part = 0; part < r_.size; ++part) {
      if (part == r_.rank) continue;
      const Range at = range(part, piece);
      std::memcpy(in_slot(r_.rank, piece, part), r_.input + at.start * r_.width,
                  static_cast<std::size_t>(at.bytes(r_.width)));
    }
  }

  void reduce(std::int64_t piece) {
    const Range at = range(r_.rank, piece);
    if (at.count == 0) return;
    for (int rank = 0; rank < r_.size; ++rank) {
      const SharedCallRecord& theirs = r_.record(rank);
      const std::byte*& source = sources_[static_cast<std::size_t>(rank)];
      if (rank == r_.rank) {
        source = r_.input + at.start * r_.width;
      } else if (theirs.input_placement == Placement::direct) {
        source = r_.direct(theirs.input) + at.start * r_.width;
      } else {
        source = in_slot(rank, piece, r_.rank);
      }
    }
    results_.clear();
    if (wants(r_.rank)) {
      results_.push_back(r_.output +
                         (scatters_ ? at.start - part_start(r_.rank) : at.start) * r_.width);
    }
    for (int rank = 0; rank < r_.size && !scatters_; ++rank) {
      if (rank == r_.rank || !wants(rank) || copies_out(rank)) continue;
      results_.push_back(r_.direct(r_.record(rank).output) + at.start * r_.width);
    }
    if (copied_by_others(r_.rank)) results_.push_back(in_slot(r_.rank, piece, r_.rank));
    combine(results_, at.count);
  }

  // An input is read here once and not written by its rank: an average is multiplied on the way,
  // and so is a sum that is scaled.
  void combine(std::span<std::byte* const> results, std::int64_t count) const {
    const double share = r_.c.share;
    if (share != 1) return sum_of_shares(r_.c.dtype(), share, sources_, results, count);
    const double factor = r_.c.factor;
    if (factor != 1) return scaled_sum(r_.c.dtype(), factor, sources_, results, count);
    reduce_in_order(r_.c.dtype(), r_.c.op, sources_, results, count);
  }

  void copy_out(std::int64_t piece) {
    for (int part = 0; part < r_.size; ++part) {
      if (part == r_.rank) continue;
      const Range at = range(part, piece);
      std::memcpy(r_.output + at.start * r_.width, in_slot(part, piece, part),
                  static_cast<std::size_t>(at.bytes(r_.width)));
    }
  }

  Round& r_;
  const bool scatters_, rooted_;
  const std::int64_t total_;  // elements of an input
  std::int64_t step_ = 0;     // elements of a part that go through at once
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> results_;
};

}  // namespace

void run_reduction(Round& round) { Reduction(round).run(); }

}  // namespace lockstep::comm::shm
