#include "engine/sim/hosts/watchdog.hpp"

#include <chrono>
#include <utility>

namespace lockstep::sim {

Watchdog::Watchdog(double patience_s, std::function<void(std::uint64_t)> bark)
    : bark_(std::move(bark)), thread_([this, patience_s] { watch(patience_s); }) {}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Watchdog::watch(double patience_s) {
  // Several looks, so that the time between two signs is not taken for longer than it was.
  constexpr int looks = 5;
  const auto pause = std::chrono::duration<double>(patience_s / looks);
  std::uint64_t seen = sign_.load(std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  for (int unchanged = 0; unchanged < looks;) {
    if (ending_.wait_for(lock, pause, [this] { return over_; })) return;
    const std::uint64_t now = sign_.load(std::memory_order_relaxed);
    unchanged = now == seen ? unchanged + 1 : 0;
    seen = now;
  }
  lock.unlock();
  bark_(seen);
}

}  // namespace lockstep::sim
