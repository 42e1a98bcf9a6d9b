// What can be said of a run. The core and its hosts find the diagnoses; the grader adds the rest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

enum class Verdict : unsigned char {
  pass,
  efficiency,  // right, but too much traffic, memory or time
  wrong_answer,
  deadlock,
  mismatch,     // ranks disagree on an operation: kind, order, count, dtype, root
  undelivered,  // a message nobody received
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

// One diagnosis: a sentence for a person, and what it is about.
struct Finding {
  Verdict verdict = Verdict::infrastructure;
  std::string message;     // "deadlock: rank 0 waits for rank 1 (recv, ring.cpp:12), rank 1 …"
  std::vector<int> ranks;  // the ranks involved; for a deadlock, the cycle in order
  std::string where;       // file:line of the first one, or empty
  std::string cause = {};  // one word where the verdict leaves it open: "asleep", "killed"
};

// "work/06_all_reduce/ring_all_reduce.cpp:21": a line as diagnoses name it, without the machine's
// own folders. Empty when there is no file.
std::string place_of(std::string_view file, int line);

// Text from a stranger, made fit for a terminal and JSON: control characters but newline and tab,
// marks that turn text around, and bytes that are no UTF-8 become '?'; `length_max` bytes at most.
std::string printable(std::string_view text, std::size_t length_max);

}  // namespace lockstep::sim
