#include "engine/comm/worlds/shm/peer_watch.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

namespace lockstep::comm::shm {

namespace {

constexpr long slice_ns = 20'000'000;
constexpr int yields_max = 400;
// A yield that takes longer has given the core to somebody else.
constexpr auto turn_min = std::chrono::microseconds(20);

// Without FUTEX_PRIVATE_FLAG: the word belongs to several processes.
void sleep_on(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  const timespec slice{0, slice_ns};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &slice, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// The low half of a phase is what its sleepers sleep on.
static_assert(std::endian::native == std::endian::little);
const std::atomic<std::uint32_t>& low_half(const std::atomic<std::uint64_t>& phase) {
  return reinterpret_cast<const std::atomic<std::uint32_t>&>(phase);
}

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Looks, lets others run, and sleeps until `ready`; `check` between two slices may throw.
template <typename Ready, typename Check>
void wait_until(const std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers,
                Patience patience, const Ready& ready, const Check& check) {
  for (int look = 0; look < patience.looks; ++look) {
    if (ready()) return;
    pause_processor();
  }
  // If others compute on all cores, a turn lasts as long as theirs: some milliseconds each.
  const auto began = std::chrono::steady_clock::now();
  auto now = began;
  for (int yield = 0, turns = 0; yield < yields_max && turns < patience.turns; ++yield) {
    if (ready()) return;
    sched_yield();
    const auto before = std::exchange(now, std::chrono::steady_clock::now());
    if (now - before > turn_min) ++turns;
    if (now - began > std::chrono::nanoseconds(slice_ns)) break;
  }
  while (true) {
    sleepers.fetch_add(1);
    const std::uint32_t seen = word.load();
    const bool done = ready();
    if (!done) sleep_on(word, seen);
    sleepers.fetch_sub(1);
    if (done || ready()) return;
    check();
  }
}

}  // namespace

PeerWatch::PeerWatch(const Control& control, int rank, int size, int ranks_of_host)
    : control_(control), rank_(rank), size_(size) {
  const bool own_core = ranks_of_host <= cores();
  // A few microseconds of looking, not more: on a busy machine the peer may be waiting for this
  // core.
  of_computing_ = {own_core ? 50 : 0, yields_max};
  of_strand_ = {own_core ? 50 : 0, 1};
}

void PeerWatch::watch_processes() {
  processes_.clear();
  for (int rank = 0; rank < size_; ++rank) {
    const pid_t pid = control_.line(rank).pid.load(std::memory_order_relaxed);
    processes_.emplace_back();
    if (pid == getpid()) continue;
    processes_.back() = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (processes_.back().get() < 0 && errno == ESRCH) {
      throw Lost{Lost::Reason::ended, rank};
    }
  }
}

void PeerWatch::publish() {
  RankLine& mine = control_.line(rank_);
  mine.phase.fetch_add(phase_step);
  if (mine.sleepers.load() != 0) wake_all(low_half(mine.phase));
}

void PeerWatch::await(std::uint64_t phase, Manner manner) {
  for (int rank = 0; rank < size_; ++rank) {
    if (rank != rank_) await_rank(rank, phase, manner);
  }
}

void PeerWatch::await_rank(int rank, std::uint64_t phase, Manner manner) {
  RankLine& line = control_.line(rank);
  const std::uint64_t wanted = phase * phase_step;
  std::uint64_t seen = line.phase.load(std::memory_order_acquire);
  if (seen >= wanted) return;
  Deadline deadline{};
  wait_until(
      low_half(line.phase), line.sleepers, manner.patience,
      [&] {
        seen = line.phase.load(std::memory_order_acquire);
        return seen >= wanted || seen % phase_step != 0;
      },
      [&] {
        check_peers(rank);
        if (deadline == Deadline{}) deadline = deadline_after(manner.timeout_s);
        if (poll_ms_until(deadline) == 0) throw Lost{Lost::Reason::late, rank};
      });
  if (seen >= wanted) return;
  throw Lost{seen % phase_step == has_left ? Lost::Reason::left : Lost::Reason::failed, rank};
}

void PeerWatch::await_message(int from, double timeout_s, const std::function<bool()>& ready,
                              const std::function<void()>& asleep) {
  RankLine& mine = control_.line(rank_);
  const RankLine& sender = control_.line(from);
  bool here = false, gone = false;
  Deadline deadline{};
  wait_until(
      mine.bell, mine.bell_sleepers, patience(),
      [&] {
        // In this order: what a rank sent before it left is there when it is seen to have left.
        gone = sender.phase.load(std::memory_order_acquire) % phase_step != 0;
        here = ready();
        return here || gone;
      },
      [&] {
        check_peers(from);
        if (deadline == Deadline{}) {
          deadline = deadline_after(timeout_s);
          asleep();
        }
        if (poll_ms_until(deadline) == 0) throw Lost{Lost::Reason::late, from};
      });
  if (here) return;
  const bool left = sender.phase.load() % phase_step == has_left;
  throw Lost{left ? Lost::Reason::left : Lost::Reason::failed, from};
}

void PeerWatch::ring(int rank) {
  RankLine& line = control_.line(rank);
  line.bell.fetch_add(1);
  if (line.bell_sleepers.load() != 0) wake_all(line.bell);
}

// Sleepers wait for various ranks, so all are woken; one that falls asleep just now finds out a
// slice later.
void PeerWatch::say(std::uint64_t how) {
  control_.line(rank_).phase.fetch_or(how);
  for (int rank = 0; rank < size_; ++rank) {
    wake_all(low_half(control_.line(rank).phase));
    wake_all(control_.line(rank).bell);
  }
}

void PeerWatch::check_peers(int waited_for) {
  const int failed = control_.head().failure.rank_after.load();
  if (failed != 0) throw Lost{Lost::Reason::failed, failed - 1};
  std::vector<pollfd> entries;
  for (const Descriptor& process : processes_) entries.push_back({process.get(), POLLIN, 0});
  if (poll(entries.data(), entries.size(), 0) <= 0) return;
  // The one waited for first: others may have ended because it did.
  const auto ended = [&](int rank) {
    return entries[static_cast<std::size_t>(rank)].revents != 0 &&
           control_.line(rank).phase.load() % phase_step != has_left;
  };
  if (static_cast<std::size_t>(waited_for) < entries.size() && ended(waited_for)) {
    throw Lost{Lost::Reason::ended, waited_for};
  }
  for (int rank = 0; rank < static_cast<int>(entries.size()); ++rank) {
    if (ended(rank)) throw Lost{Lost::Reason::ended, rank};
  }
}

}  // namespace lockstep::comm::shm
