// One rank's place in a group that shares memory: the control block, this rank's slots, and where
// the others' are. Making it is meeting the others; destroying it is leaving them.
//
// Invariant: memory that a peer may still look at stays. Who leaves last releases the slots of all
// and the control block, whoever owns them; a rank that died has never left, so then they stay. Who
// does not get to be a member leaves, too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/rank_names.hpp"
#include "engine/comm/worlds/shm/arena.hpp"
#include "engine/comm/worlds/shm/control.hpp"
#include "engine/comm/worlds/shm/peer_watch.hpp"

namespace lockstep::comm::shm {

class Membership {
 public:
  struct Meeting {
    std::shared_ptr<Arena> arena;
    std::uint64_t control_at = 0;
    int rank = 0, size = 1;
    RankNames names = {};
    std::string name;
    double timeout_s = 30, meet_timeout_s = 30;
  };
  // Waits until all have come and each knows it.
  //   Requires  the control block was zero when the first of them came
  //   Throws    CommError naming the ranks that did not come, or that ended
  explicit Membership(Meeting meeting);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  int rank() const { return meeting_.rank; }
  int size() const { return meeting_.size; }
  const RankNames& names() const { return meeting_.names; }
  const Meeting& meeting() const { return meeting_; }
  Arena& arena() const { return *meeting_.arena; }
  const Segment& segment() const { return meeting_.arena->segment(); }
  const Control& control() const { return control_; }
  PeerWatch& peer_watch() { return peer_watch_; }

  std::byte* inline_slot(int rank, std::uint64_t number) const;
  std::byte* slot(int rank, std::uint64_t piece) const;

  // Blocks of this rank's arena that come back when all have left.
  void give_at_end(std::uint64_t block) { at_end_.push_back(block); }
  // The block around `offset` is not given out again before, whoever gives it.
  void hold_to_end(std::uint64_t offset) {
    if (const auto block = arena().hold(offset)) give_at_end(*block);
  }

  // Makes every rank's next and present wait fail with `cause`, unless somebody failed before.
  void poison(const std::string& cause);
  // "rank 2: …" when somebody has failed, else empty.
  std::string first_cause() const;

 private:
  void come();
  void meet();
  void leave();

  Meeting meeting_;
  Control control_;
  PeerWatch peer_watch_;
  std::vector<std::uint64_t> slot_blocks_;  // by rank
  std::vector<std::uint64_t> at_end_;
};

}  // namespace lockstep::comm::shm
