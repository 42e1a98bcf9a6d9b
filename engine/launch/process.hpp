// A child process that cannot be lost: it leads its own process group, dies with its parent, and
// is killed and reaped by the destructor if nobody did so before.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

// The destination of a child's stream: ours, or a pipe that we read.
enum class Stream : std::uint8_t { inherit, pipe };

struct ProcessOptions {
  std::vector<std::string> command;  // program and arguments; the program is looked up in PATH
  // Or, when there is no command: what the child runs itself, and its exit code. As a program would
  // it has none of our close-on-exec descriptors and no handlers of signals, only their defaults.
  std::function<int()> body;
  std::vector<std::string> environment;  // "NAME=value", all of it
  Stream output = Stream::pipe;          // stdout
  Stream error = Stream::pipe;           // stderr; stdin is always empty
  sigset_t signal_mask{};                // the child's blocked signals
};

class Process {
 public:
  //   Requires  no other thread runs when there is a body: it would find locks that nobody opens
  //   Throws    UsageError when the program cannot be started
  explicit Process(const ProcessOptions& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  int exit_fd() const { return exit_fd_.get(); }  // readable once the process has ended
  comm::Descriptor& output() { return output_; }  // our ends of the pipes, non-blocking
  comm::Descriptor& error() { return error_; }
  bool running() const { return running_; }

  // To the whole process group; nothing happens when the process was reaped.
  void signal(int number) const;
  // The wait status if it has ended; what is left of its process group is killed then.
  std::optional<int> try_reap();
  // The resources that it, and the processes that it waited for, have used; zero until it is
  // reaped.
  const rusage& used() const { return used_; }

 private:
  pid_t pid_ = -1;
  bool running_ = false;
  rusage used_{};
  comm::Descriptor exit_fd_, output_, error_;
};

}  // namespace lockstep::launch
