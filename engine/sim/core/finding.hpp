// A finding of the simulator in a run. The core finds that every rank waits or that two disagree; a
// host finds that a process crashed or used up its time. Whether an answer is right is for others
// to judge.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/dtype.hpp"

namespace lockstep::sim {

enum class FindingKind : unsigned char {
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
  unsolved,        // a stub was called: NotImplemented
  infrastructure,  // the network or the machine failed, not the program
};

std::string_view name_of(FindingKind kind);  // "rank exited"

// One rank's side of an operation that a finding is about: of a collective, or of a message.
struct FoundCall {
  int rank = 0;
  std::int64_t count = 0;  // elements
  DType dtype = DType::float32;
  double posted_s = 0;
};

// One diagnosis: a sentence for a person, and what it is about.
struct Finding {
  FindingKind kind = FindingKind::infrastructure;
  std::string message;     // "deadlock: rank 0 waits for rank 1 (recv, ring.cpp:12), rank 1 …"
  std::vector<int> ranks;  // the ranks involved; for a deadlock, the cycle in order
  std::string where;       // file:line of the first one, or empty
  std::string cause = {};  // one word where the kind leaves it open: "returned_early"
  // The calls, if the ranks disagree about them or the buffer of one is the matter.
  std::vector<FoundCall> calls = {};
  // The calls that led to the throw of an exception that left a part, if its process knows them.
  std::vector<std::uint64_t> thrown_at = {};
};

}  // namespace lockstep::sim
