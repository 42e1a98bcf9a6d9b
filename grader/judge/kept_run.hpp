// Keeps the run of the one case that is worth looking at: the last that failed, or else the
// largest. It costs nothing if nobody asks for it.
#pragma once

#include "engine/trace/timeline.hpp"

namespace lockstep::grader {

class KeptRun {
 public:
  explicit KeptRun(trace::Timeline* kept) : kept_(kept) {}

  // The timeline in which the core writes the next case; nullptr if nobody asks.
  trace::Timeline* next(const std::string& title);
  // The last case's; nullptr if nobody asks, or if it is kept already.
  trace::Timeline* last() { return has_last_ ? &last_ : nullptr; }
  // The last case was found wanting, by the core or by the judge, and is kept: with these words,
  // and with who waited, which only the core knows.
  void failed(trace::Finding finding);
  // There are no more cases.
  void end();

 private:
  trace::Timeline* kept_;
  trace::Timeline last_;
  bool has_last_ = false, has_failed_ = false;
};

}  // namespace lockstep::grader
