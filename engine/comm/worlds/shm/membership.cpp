#include "engine/comm/worlds/shm/membership.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/base/error.hpp"

namespace lockstep::comm::shm {

Membership::Membership(Meeting meeting)
    : meeting_(std::move(meeting)),
      control_(segment(), meeting_.control_at, size()),
      peer_watch_(control_, rank(), size(), static_cast<int>(segment().ranks())) {
  try {
    come();
  } catch (...) {
    leave();
    throw;
  }
}

void Membership::come() {
  const auto block = arena().take(slot_block_bytes);
  if (!block) {
    const std::string cause = text(names().name(rank()), " has no room for its slots in the group ",
                                   "\"", meeting_.name, "\": the shared memory is spent");
    poison(cause);
    throw CommError(cause);
  }
  segment().object<SlotHead>(*block).released.store(0, std::memory_order_relaxed);
  at_end_.push_back(*block);
  RankLine& mine = control_.line(rank());
  mine.pid.store(getpid(), std::memory_order_relaxed);
  mine.slots.store(*block, std::memory_order_relaxed);
  meet();
  for (int other = 0; other < size(); ++other) {
    slot_blocks_.push_back(control_.line(other).slots.load(std::memory_order_relaxed));
  }
}

void Membership::meet() {
  std::uint64_t phase = 0;
  const auto next_phase = [&] {
    peer_watch_.publish();
    peer_watch_.await(++phase, {peer_watch_.patience(), meeting_.meet_timeout_s});
  };
  try {
    next_phase();
    peer_watch_.watch_processes();
    next_phase();
    LOCKSTEP_CHECK(phase == phases_to_meet, "ranks met in ", phase, " phases");
  } catch (const Lost& lost) {
    std::vector<int> missing;
    for (int other = 0; other < size(); ++other) {
      if (control_.line(other).phase.load() < phase * phase_step) missing.push_back(other);
    }
    if (missing.empty()) missing.push_back(lost.rank);
    const std::string cause =
        text(names().name(rank()), ": of the ", size(), " ranks of the group \"", meeting_.name,
             "\" on this host, ", names().list(missing), " did not come within ",
             meeting_.meet_timeout_s, " s, or ended; look at the output there");
    poison(cause);
    throw CommError(cause);
  }
}

Membership::~Membership() { leave(); }

void Membership::leave() {
  peer_watch_.say(has_left);
  Head& head = control_.head();
  // acq_rel: the last one comes after all others, and has done with their memory itself.
  if (head.left.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size())) {
    for (int other = 0; other < size(); ++other) {
      const std::uint64_t block = control_.line(other).slots.load(std::memory_order_relaxed);
      if (block == 0) continue;  // it had no room for any
      segment().object<SlotHead>(block).released.store(1, std::memory_order_release);
    }
    head.released.store(1, std::memory_order_release);
  }
  if (at_end_.empty()) return;
  const SlotHead& own = segment().object<SlotHead>(at_end_.front());
  arena().give_when(std::move(at_end_), own.released);
}

std::byte* Membership::inline_slot(int rank, std::uint64_t number) const {
  return segment().at(inline_slot_at(slot_blocks_[static_cast<std::size_t>(rank)], number));
}

std::byte* Membership::slot(int rank, std::uint64_t piece) const {
  return segment().at(slot_at(slot_blocks_[static_cast<std::size_t>(rank)], piece));
}

void Membership::poison(const std::string& cause) {
  Failure& failure = control_.head().failure;
  std::int32_t none = 0;
  if (failure.rank_after.compare_exchange_strong(none, rank() + 1)) {
    const std::size_t length = std::min(cause.size(), sizeof failure.cause - 1);
    std::memcpy(failure.cause, cause.data(), length);
    failure.cause[length] = 0;
    failure.told.store(1, std::memory_order_release);  // acquire: first_cause()
  }
  peer_watch_.say(has_failed);
}

std::string Membership::first_cause() const {
  const Failure& failure = control_.head().failure;
  const int failed = failure.rank_after.load();
  if (failed == 0) return {};
  // A rank that began to write the cause is about to end it. If it dies meanwhile, its rank is
  // enough.
  for (int look = 0; look < 1000; ++look) {
    if (failure.told.load(std::memory_order_acquire) != 0) return failure.cause;
    usleep(10);
  }
  return names().name(failed - 1) + " failed";
}

}  // namespace lockstep::comm::shm
