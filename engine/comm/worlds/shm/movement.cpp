// Collectives that move data as they are: broadcast, gather, scatter, all_gather, all_to_all; and
// the barrier, which moves none. Who wants something reads it: from the inline slot or the arena of
// its owner at once, or piece by piece from the owner's slots.
//
// A rank's input consists of lanes: one for each destination where these differ (scatter,
// all_to_all), else a single one. A slot has room for a piece of each lane, so that all
// destinations have something to read at any time.
//
// Piece p + 1 is staged when all have published piece p, which they do after they have read piece
// p - 2: hence three slots.
#include <algorithm>

#include "engine/comm/worlds/shm/round.hpp"

namespace lockstep::comm::shm {

namespace {

class Movement {
 public:
  explicit Movement(Round& round)
      : r_(round),
        traits_(traits_of(round.c.kind)),
        lanes_(traits_.given == sim::Parts::each ? round.size : 1),
        step_(static_cast<std::int64_t>(slot_bytes) / lanes_ / 64 * 64 / round.width) {}

  void run() {
    if (brings(r_.rank) && !r_.bring_input()) stage(0);
    r_.arrive();
    if (takes_from(r_.rank)) copy_own();
    bool any_direct = false;
    std::int64_t longest = 0;
    for (int src = 0; src < r_.size; ++src) {
      const Placement placement = r_.record(src).input_placement;
      any_direct |= placement == Placement::direct;
      if (placement == Placement::staged) longest = std::max(longest, longest_lane(src));
      if (src != r_.rank && takes_from(src)) read_whole(src);
    }
    if (longest > 0) read_pieces((longest + step_ - 1) / step_);
    if (any_direct) {
      // A rank that lent its tensor gets it back when all have read it.
      r_.publish();
      r_.await();
    }
  }

 private:
  // For others to read: where the root alone takes, it copies its own.
  bool brings(int rank) const {
    const bool alone = traits_.takers == sim::Ranks::root && rank == r_.c.root;
    return traits_.gives(rank, r_.c.root) && !alone;
  }
  bool takes_from(int src) const {
    if (src == r_.rank && traits_.in_place()) return false;
    return traits_.gives(src, r_.c.root) && traits_.takes(r_.rank, r_.c.root);
  }

  // The counts that `rank` published, of elements by peer.
  std::int64_t count_of(int rank, int peer) const {
    const SharedCallRecord& record = r_.record(rank);
    if (record.unequal == 0) return record.count;
    return r_.membership.control().counts(rank, r_.number)[peer];
  }
  std::int64_t lane_count(int src, int lane) const {
    return count_of(src, lanes_ == 1 ? src : lane);
  }
  std::int64_t lane_start(int src, int lane) const {
    std::int64_t start = 0;
    for (int before = 0; before < lane; ++before) start += lane_count(src, before);
    return start;
  }
  std::int64_t longest_lane(int src) const {
    std::int64_t longest = 0;
    for (int lane = 0; lane < lanes_; ++lane) longest = std::max(longest, lane_count(src, lane));
    return longest;
  }
  int my_lane() const { return lanes_ == 1 ? 0 : r_.rank; }

  // The place at which the elements from `src` begin in this rank's output.
  std::int64_t output_start(int src) const {
    if (traits_.taken != sim::Parts::each) return 0;
    return comm::part_start(r_.c.output_counts, r_.c.output, src, r_.size);
  }

  void copy(std::byte* to, const std::byte* from, std::int64_t count) const {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count * r_.width));
  }

  void copy_own() const {
    std::byte* const to = r_.output + output_start(r_.rank) * r_.width;
    const std::byte* const from = r_.input + lane_start(r_.rank, my_lane()) * r_.width;
    if (to != from) copy(to, from, lane_count(r_.rank, my_lane()));
  }

  void read_whole(int src) const {
    const SharedCallRecord& theirs = r_.record(src);
    if (theirs.input_placement == Placement::staged) return;
    const std::byte* const from =
        theirs.input_placement == Placement::direct ? r_.direct(theirs.input) : r_.inlined(src);
    copy(r_.output + output_start(src) * r_.width, from + lane_start(src, my_lane()) * r_.width,
         lane_count(src, my_lane()));
  }

  // The elements that piece `piece` has of a lane of `count` elements.
  std::int64_t piece_count(std::int64_t count, std::int64_t piece) const {
    return std::clamp<std::int64_t>(count - piece * step_, 0, step_);
  }

  void stage(std::int64_t piece) const {
    std::byte* const slot = r_.slot(r_.rank, piece);
    for (int lane = 0; lane < lanes_; ++lane) {
      if (lanes_ > 1 && lane == r_.rank) continue;  // nobody else reads it
      const std::int64_t from = lane_start(r_.rank, lane) + piece * step_;
      copy(slot + lane * step_ * r_.width, r_.input + from * r_.width,
           piece_count(lane_count(r_.rank, lane), piece));
    }
  }

  void read_pieces(std::int64_t pieces) {
    const bool stages = r_.mine.input_placement == Placement::staged;
    for (std::int64_t p = 0; p < pieces; ++p) {
      if (p > 0) r_.await();
      if (p + 1 < pieces) {
        if (stages) stage(p + 1);
        r_.publish();
      }
      for (int src = 0; src < r_.size; ++src) {
        if (src == r_.rank || r_.record(src).input_placement != Placement::staged ||
            !takes_from(src)) {
          continue;
        }
        copy(r_.output + (output_start(src) + p * step_) * r_.width,
             r_.slot(src, p) + my_lane() * step_ * r_.width,
             piece_count(lane_count(src, my_lane()), p));
      }
    }
    r_.used_slots(pieces);
  }

  Round& r_;
  const sim::CollectiveTraits& traits_;
  const int lanes_;
  const std::int64_t step_;  // elements of a lane that go through at once
};

}  // namespace

void run_movement(Round& round) { Movement(round).run(); }

}  // namespace lockstep::comm::shm
