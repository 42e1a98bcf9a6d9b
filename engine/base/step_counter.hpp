// The progress of a long command, on standard error: a counter on a terminal, a line for each step
// elsewhere. A step is announced when it begins.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <string>

#include "engine/base/text.hpp"

namespace lockstep {

class StepCounter {
 public:
  explicit StepCounter(std::size_t steps) : steps_(steps) {}
  ~StepCounter() { clear(); }
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  void begin(const std::string& step) {
    const std::string line = text("[", ++begun_, "/", steps_, "] ", step);
    if (terminal_) {
      std::cerr << "\r  " << line << "\033[K" << std::flush;
    } else {
      std::cerr << text("  ", line, "\n");
    }
  }
  // Before anything else is said.
  void clear() const {
    if (terminal_ && begun_ > 0) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  std::size_t steps_;
  std::size_t begun_ = 0;
  bool terminal_ = isatty(STDERR_FILENO) != 0;
};

}  // namespace lockstep
