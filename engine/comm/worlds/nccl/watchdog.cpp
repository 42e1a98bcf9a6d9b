#include "engine/comm/worlds/nccl/watchdog.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::comm {
namespace {

using std::chrono::steady_clock;
constexpr auto turn = std::chrono::milliseconds(10);
constexpr auto young = std::chrono::seconds(1);
// When NCCL has failed, the ranks' words come first: only they say which call was another one.
constexpr auto patience = std::chrono::milliseconds(500);
// How often peers are asked for the reason of a failure; and how long a rank gives those that are
// well to hear of its own. They ask when their operation is no longer young.
constexpr auto between_questions = std::chrono::milliseconds(50);
constexpr double until_all_asked_s = 2.5;

// A device that has failed does nothing any more.
bool has_come(gpu::Moment& done) {
  try {
    return done.has_come();
  } catch (const Error&) {
    return false;
  }
}

std::chrono::duration<double> seconds(double count) { return std::chrono::duration<double>(count); }

}  // namespace

Watchdog::Watchdog(double timeout_s, RankNames names, Processes processes, PeersReason peers_reason,
                   Fail fail)
    : timeout_s_(timeout_s),
      names_(std::move(names)),
      processes_(std::move(processes)),
      peers_reason_(std::move(peers_reason)),
      fail_(std::move(fail)),
      thread_([this] { work(); }) {}

void Watchdog::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  communicators_.clear();
}

// Asked for the first time at once: paper leaves what it finds to those who ask.
void Watchdog::watch(AbortableCommunicator& communicator) {
  static_cast<void>(communicator.failure());
  const std::scoped_lock lock(mutex_);
  communicators_.push_back({&communicator});
}

void Watchdog::add(AbortableCommunicator& communicator, std::shared_ptr<Flight> flight) {
  auto done = flight->done();
  if (done == nullptr) return;
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(communicators_, &communicator, &Watched::communicator);
  found->entries.push_back({std::move(flight), std::move(done), steady_clock::now()});
}

void Watchdog::wait_until_idle() {
  std::unique_lock lock(mutex_);
  hurried_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return failed_ ||
           std::ranges::all_of(communicators_, [](const Watched& w) { return w.entries.empty(); });
  });
  hurried_ = false;
}

void Watchdog::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!hurried_) changed_.wait_for(lock, turn);
    if (ending_) return;
    std::optional<Finding> finding;
    try {
      finding = look();
      if (!finding) finding = ask_peers(lock);
    } catch (const Error& error) {
      finding = {oldest(), error.what()};
    }
    if (ending_) return;
    changed_.notify_all();
    if (finding) {
      failed_ = true;
      lock.unlock();
      fail_(*finding);
      lock.lock();
      changed_.notify_all();
      changed_.wait(lock, [&] { return ending_; });
    } else if (hurried_) {
      changed_.wait_for(lock, std::chrono::microseconds(100));
    }
  }
}

std::optional<Watchdog::Finding> Watchdog::look() {
  const auto now = steady_clock::now();
  for (Watched& watched : communicators_) {
    if (const std::string why = watched.communicator->failure(); !why.empty()) {
      if (!failing_since_) failing_since_ = now;
      if (now - *failing_since_ < patience) continue;
      return Finding{oldest(), "NCCL: " + why};
    }
    if (auto finding = look_at(watched, now)) return finding;
  }
  return look_for_the_ended(now);
}

std::optional<Watchdog::Finding> Watchdog::look_at(Watched& watched, Time now) {
  while (!watched.entries.empty()) {
    Entry& first = watched.entries.front();
    if (!hurried_ && now - first.asked < young) return {};
    if (!first.begun) {
      if (!first.flight->ready().has_come()) return {};
      first.begun = now;
    }
    if (!first.done->has_come()) {
      if (now - *first.begun < seconds(timeout_s_)) return {};
      return Finding{first.flight->doing(),
                     text("the GPU has been at it for ", timeout_s_,
                          " s, although all ranks have called it: a GPU is stuck, or the ranks use "
                          "several groups in different orders"),
                     until_all_asked_s};
    }
    first.flight->let_go();
    watched.entries.pop_front();
  }
  return {};
}

std::optional<int> Watchdog::ended(int rank) const {
  for (const auto& [other, process] : processes_) {
    if (rank >= 0 && other != rank) continue;
    pollfd entry{process.get(), POLLIN, 0};
    if (poll(&entry, 1, 0) > 0) return other;
  }
  return {};
}

// A process that has done its part may end before this rank's GPU is done with it.
std::optional<Watchdog::Finding> Watchdog::look_for_the_ended(Time now) {
  const bool idle =
      std::ranges::all_of(communicators_, [](const Watched& w) { return w.entries.empty(); });
  if (idle) {
    ended_since_.reset();
    return {};
  }
  if (const auto rank = ended(-1)) {
    if (!ended_since_) ended_since_ = now;
    if (now - *ended_since_ < 2 * young) return {};
    return Finding{oldest(), text("the process of ", names_.name(*rank),
                                  " has ended; look at its last output")};
  }
  return {};
}

// Comes after look(), so an operation that is still there is not done. The store may be slow to
// answer, and nobody is locked out meanwhile.
std::optional<Watchdog::Finding> Watchdog::ask_peers(std::unique_lock<std::mutex>& lock) {
  const auto now = steady_clock::now();
  if (now - peers_asked_ < between_questions) return {};
  const bool waits = std::ranges::any_of(communicators_, [&](const Watched& watched) {
    return !watched.entries.empty() && now - watched.entries.front().asked >= young;
  });
  if (!waits) return {};
  peers_asked_ = now;
  lock.unlock();
  const std::string reason = peers_reason_();
  lock.lock();
  if (reason.empty()) return {};
  const std::string doing = oldest();
  if (doing.empty()) return {};
  return Finding{doing, "because " + reason};
}

// The operation that the GPU is at; empty: none.
std::string Watchdog::oldest() {
  const Entry* first = nullptr;
  for (Watched& watched : communicators_) {
    while (!watched.entries.empty() && has_come(*watched.entries.front().done)) {
      watched.entries.pop_front();
    }
    if (watched.entries.empty()) continue;
    const Entry& entry = watched.entries.front();
    if (first == nullptr || entry.asked < first->asked) first = &entry;
  }
  return first == nullptr ? "" : first->flight->doing();
}

}  // namespace lockstep::comm
