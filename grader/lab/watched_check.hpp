// A check in a process of its own, so that a save, a key or a signal can end it at any moment.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "grader/lab/lab.hpp"
#include "grader/lab/terminal.hpp"

namespace lockstep::grader {

// The outcome of a check. The standing is noted already.
struct Outcome {
  std::string words;        // as ./lab check prints them, for any width
  nlohmann::json document;  // as ./lab check --json has it
};

class WatchedCheck {
 public:
  WatchedCheck(const Lab& lab, const Exercise& exercise, const Signals& signals);
  ~WatchedCheck();  // ends what still runs
  WatchedCheck(const WatchedCheck&) = delete;
  WatchedCheck& operator=(const WatchedCheck&) = delete;

  int fd() const { return from_; }  // readable when there is something to take

  // The outcome, once all of it has arrived.
  //   Throws  Error when the check ended without one
  std::optional<Outcome> take();

 private:
  pid_t child_ = -1;
  int from_ = -1;
  std::string got_;
};

}  // namespace lockstep::grader
