// Looks, from a thread of its own, whether somebody gives a sign of life often enough. Internal to
// engine/sim.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::sim {

class Watchdog {
 public:
  // `bark(sign)` is called once, from the watchdog's thread, when the last sign is older than
  // `patience_s`.
  Watchdog(double patience_s, std::function<void(std::uint64_t sign)> bark);
  ~Watchdog();

  // A sign of life: two in a row are different numbers.
  void sign(std::uint64_t sign) { sign_.store(sign, std::memory_order_relaxed); }

 private:
  void watch(double patience_s);

  std::atomic<std::uint64_t> sign_ = 0;
  std::function<void(std::uint64_t)> bark_;
  std::mutex mutex_;  // guards over_
  std::condition_variable ending_;
  bool over_ = false;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace lockstep::sim
