// One player process: a child that holds one socket (fd 3), has nowhere to write but a pipe, and is
// limited before its first instruction. Internal to engine/sim.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sim/core/finding.hpp"
#include "engine/sim/hosts/process_host.hpp"

namespace lockstep::sim {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// The surroundings of a child: nothing but a pipe, in a process group of its own and under limits;
// or the terminal, the environment and the process group of the lab, as a debugger needs them.
enum class Surroundings : unsigned char { none, the_labs };

class ChildProcess {
 public:
  // Forks and executes; returns before the program runs, so that several start side by side. The
  // child dies with the thread that started it.
  ChildProcess(const std::vector<std::string>& command, const PlayerLimits& limits,
               Surroundings surroundings = Surroundings::none);
  ChildProcess(ChildProcess&& other) noexcept;
  ~ChildProcess();  // kills the group and reaps

  // Waits until the program runs. Throws Error when it cannot be executed.
  void await_start(const std::vector<std::string>& command);

  int socket() const { return socket_.get(); }  // non-blocking
  int output() const { return output_.get(); }  // stdout and stderr; non-blocking
  pid_t pid() const { return pid_; }
  double cpu_s() const;  // processor time the player has used
  bool asleep() const;   // none of its threads runs or waits for a processor
  // Memory of its own that holds something, in RAM or swapped out: what it has written, wherever it
  // got it from. Pages of its program that it only read are not in it. Nothing where the system
  // does not tell.
  std::optional<std::int64_t> memory_bytes() const;
  // The most that it has held at one time since forget_peak(), its program's pages left out: the
  // system's high-water mark. Nothing where the system does not tell.
  std::optional<std::int64_t> peak_bytes() const;
  bool forget_peak();  // false where the system does not let it be forgotten

  // Says how `rank` ended after its end of the socket was closed: it exited, or crashed.
  Finding how_it_ended(int rank);

 private:
  void await_announcement();

  Descriptor socket_, output_, start_error_;
  bool launched_ = false;  // through a launcher, whose process pid_ is
  pid_t pid_ = -1;         // -1: reaped
  pid_t player_pid_ = -1;
};

// Says how a process that ran a rank ended, by the status of waitpid().
Finding end_of_process(int rank, int status);

}  // namespace lockstep::sim
