// The verdict on an answer: what the simulator found in its run, or what only a grader can know,
// such as a wrong answer or one that does not compile.
#pragma once

#include <string_view>

#include "engine/sim/core/finding.hpp"

namespace lockstep::grader {

enum class Verdict : unsigned char {
  pass,
  efficiency,  // right, but too much traffic, memory or time
  wrong_answer,
  deadlock,
  mismatch,     // ranks disagree on an operation: kind, order, count, dtype, root
  undelivered,  // a message that no rank received
  in_flight,    // a buffer was changed while it was being sent or received
  rank_exited,
  crash,  // a signal, or an exception that left the part
  time,
  memory,
  output,  // too much printed
  traffic_limit,
  nondeterministic,
  compile_error,
  unsolved,
  refused,  // cannot be graded, with its reason
  missing,
  infrastructure,  // the lab's own failure: not the student's code
};

std::string_view name_of(Verdict verdict);  // "wrong answer"

// The verdict on a run in which the simulator found this; it has the same name.
Verdict verdict_of(sim::FindingKind kind);

}  // namespace lockstep::grader
