// Signals that are blocked and readable from a descriptor instead.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <optional>
#include <span>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

// Blocks a set of signals in this thread; undone at the end.
//   Requires  no other thread runs yet: those that start later inherit the block and leave the
//             signals to us
class BlockedSignals {
 public:
  explicit BlockedSignals(const sigset_t& blocked) {
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    fd_ = comm::Descriptor(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }
  std::optional<int> take() {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  comm::Descriptor fd_;
};

inline sigset_t set_of(std::span<const int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

// The signals that ask a program to end (SIGINT, SIGTERM, SIGQUIT, and SIGHUP unless it is
// ignored), and `others`.
class Signals : public BlockedSignals {
 public:
  explicit Signals(std::span<const int> others = {}) : BlockedSignals(all_with(others)) {}

 private:
  static sigset_t all_with(std::span<const int> others) {
    sigset_t blocked = set_of(others);
    for (const int number : {SIGINT, SIGTERM, SIGQUIT}) sigaddset(&blocked, number);
    struct sigaction hangup {};
    const bool ignored = sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&blocked, SIGHUP);  // ignored when started by nohup
    return blocked;
  }
};

// A scheduler sends these to a rank that shall save and stop: SIGTERM, as scancel and torchrun do,
// and SIGUSR1, as sbatch --signal=USR1@60 does. SIGINT still ends it at once.
class StopSignals : public BlockedSignals {
 public:
  StopSignals() : BlockedSignals(set_of(numbers)) {}
  // The ranks of a run are told one after the other, and the first may make all of them stop: a
  // SIGUSR1 that reaches a rank after its work would kill it, and the saved run would have failed.
  ~StopSignals() { signal(SIGUSR1, SIG_IGN); }
  // The first of them that has come; 0 before. Later ones change nothing.
  int told() {
    if (first_ == 0) first_ = take().value_or(0);
    return first_;
  }

 private:
  static constexpr int numbers[]{SIGTERM, SIGUSR1};
  int first_ = 0;
};

}  // namespace lockstep::launch
