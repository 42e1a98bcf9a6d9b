// Ranks that end as they should not, or do not end.
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "tests/sim/broken_programs.hpp"

// Under a sanitizer a crash is still to end a rank by its signal; without one nobody asks.
extern "C" const char* __asan_default_options();
extern "C" const char* __tsan_default_options();
const char* __asan_default_options() { return "handle_segv=0:detect_leaks=0"; }
const char* __tsan_default_options() { return "handle_segv=0"; }

namespace lockstep::test {

namespace {

using sim::FindingKind;

// The others wait for the rank that goes wrong, which has met them once.
constexpr comm::Where meeting = comm::Where::current();
void meet(Self& self) { self.group.barrier(meeting); }

void throws(Self& self) {
  if (self.rank() == 2) throw Error("out of ideas");
  meet(self);
}

void not_a_rank(Self& self) {
  if (self.rank() == 1) self.at('a'), self.group.send(self.ones(), 3);
  meet(self);
}

void exits(Self& self) {
  meet(self);
  if (self.rank() == 1) std::exit(0);
  meet(self);
}

void reads_at_null(Self& self) {
  meet(self);
  if (self.rank() == 1) std::raise(SIGSEGV);
  meet(self);
}

void never_ends(Self& self) {
  meet(self);
  std::atomic<int> turns = 0;
  while (self.rank() == 1) ++turns;
  meet(self);
}

}  // namespace

comm::Where meeting_line() { return meeting; }

std::vector<BrokenProgram> broken_ends() {
  return {
      {"one rank throws", "", 3, throws, FindingKind::crash, {2}, "rank 2 threw: out of ideas"},
      {"a rank sends to one that does not exist",
       "invalid parameter",
       3,
       not_a_rank,
       FindingKind::crash,
       {1},
       "rank 1 threw: send: rank 3 is not in this group of 3 ranks (0 to 2), asked by rank "
       "1 at {a}; a ring wraps round, to (rank + 1) % size and (rank + size - 1) % size; a tree "
       "leaves out who is not there"},
      {"one rank ends its process",
       "",
       3,
       exits,
       FindingKind::rank_exited,
       {1},
       "rank 1 called exit(0) before returning its result; its last call was at {m}",
       Runs::in_processes},
      {"one rank touches memory that is not its own",
       "",
       3,
       reads_at_null,
       FindingKind::crash,
       {1},
       "rank 1 crashed: SIGSEGV: it accessed memory outside its own (a null pointer, an index "
       "out of range, infinite recursion, a reference to a variable of a function that has "
       "returned), or exceeded its memory limit; its last call was at "
       "{m}",
       Runs::in_processes},
      {"one rank never ends",
       "",
       3,
       never_ends,
       FindingKind::time,
       {1},
       "rank 1 ran for more than 0.3 s since its call at {m} without communicating or returning: "
       "an endless loop, or one whose work grows too fast, as O(n²)?",
       Runs::in_processes},
  };
}

}  // namespace lockstep::test
