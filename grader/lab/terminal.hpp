// The terminal while a command has it for itself: keys without Enter, a screen of its own, and
// signals as things to read. Everything is as it was before when the object goes.
#pragma once

#include <sys/signalfd.h>
#include <termios.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace lockstep::grader {

// Signals that a loop reads between other things, instead of being interrupted by them.
class Signals {
 public:
  // Watches signals of this process; without a list, these are SIGINT, SIGTERM, SIGHUP, SIGWINCH,
  // SIGTSTP and SIGCONT.
  Signals();
  explicit Signals(std::initializer_list<int> heard);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }
  int next();                     // 0: none
  void restore_in_child() const;  // a child must hear what its parent does not

 private:
  sigset_t before_{};
  int fd_ = -1;
};

struct ScreenSize {
  std::size_t rows = 24, columns = 80;
};

class Terminal {
 public:
  Terminal();  // Throws Error when standard input is no terminal
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static bool there();  // standard input and output are one
  static ScreenSize size();

  // The keys that were pressed, each as one letter; arrows are those of vi (h j k l are not what
  // they mean here: up is 'k', down is 'j'). nullopt when the terminal is gone.
  std::optional<std::string> keys();
  void show(const std::string& frame);

  void leave();  // as it was before
  void enter();  // again

 private:
  termios before_{};
  bool entered_ = false;
};

}  // namespace lockstep::grader
