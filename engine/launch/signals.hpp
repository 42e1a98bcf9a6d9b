// Signals that are blocked and readable from a descriptor instead.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <optional>
#include <span>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

// Blocks the signals that ask a program to end (SIGINT, SIGTERM, SIGQUIT, and SIGHUP unless it is
// ignored) and `others` in this thread; undone at the end.
//   Requires  no other thread runs yet: those that start later inherit the block and leave the
//             signals to us
class Signals {
 public:
  explicit Signals(std::span<const int> others = {}) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&blocked, number);
    for (const int number : others) sigaddset(&blocked, number);
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN) {
      sigdelset(&blocked, SIGHUP);  // started by nohup
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    fd_ = comm::Descriptor(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

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

}  // namespace lockstep::launch
