// Reading a hang. A job has stopped, and each rank has reported its last call and what it does now.
// Most ranks wait in a correct line of code. The question is for whom.
//
//   rank 0   waits in all_reduce number 7 of the world, 1000 elements
//   rank 1   has returned; it called 6 collectives of the world        early_exit, number 7
//   rank 2   waits in all_reduce number 7 of the world, 1000 elements
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::comm {

enum class CallKind : std::uint8_t {
  send,
  recv,
  broadcast,
  reduce,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  barrier
};

// One call of a rank. Ranks are global ones throughout.
struct CallRecord {
  CallKind kind = CallKind::barrier;
  int group = 0;            // a place in HangReport::groups
  std::int64_t number = 0;  // a collective: its place among this rank's in this group, from 1
  int peer = -1;            // a message: the other rank; broadcast and reduce: the root
  std::int64_t count = 0;   // elements
  bool operator==(const CallRecord&) const = default;
};
inline bool is_message(const CallRecord& call) { return call.number == 0; }

enum class Activity : std::uint8_t { computing, waiting, returned };

struct RankRecord {
  Activity doing = Activity::computing;
  CallRecord last;                   // what it waits in; otherwise the last call, which is over
  std::vector<std::int64_t> called;  // [groups] collectives it has called there, with this one
  bool operator==(const RankRecord&) const = default;
};

struct HangReport {
  std::vector<std::vector<int>> groups;  // the members of each; group 0 is the world
  std::vector<RankRecord> ranks;         // [N] by rank
};

// The kinds of hangs. If several fit, the first in this list is meant.
enum class HangKind : std::uint8_t {
  // Ranks wait in the same collective of the same group (by its number), with different calls. Most
  // agree, and the others
  wrong_call,   // call something of another kind
  wrong_root,   // name another root
  wrong_count,  // bring another number of elements
  // A rank waits for one that
  early_exit,  // has returned
  // Ranks wait for each other in a cycle, and none can go on. They wait in
  wrong_group,  // collectives of two groups: most are in one, and a few are in the other
  left_out,     // collectives of one group, and messages, in which some wait instead
  cycle,        // messages only
  // Every rank that waits does so, in the end, for a rank that computes:
  slow,  // nothing hangs
};
std::string name_of(HangKind kind);  // "early_exit"

// Which ranks are to blame, and at which collective.
struct Diagnosis {
  HangKind kind = HangKind::slow;
  // Not the ranks that wait for them. wrong_call, wrong_root, wrong_count: the few that differ.
  // early_exit: those that have returned and are waited for. wrong_group, left_out: of the
  // collective that most ranks wait in, the members of its group that have not called it. cycle:
  // all ranks of the cycle. slow: those that compute and are waited for. Ascending.
  std::vector<int> culprits;
  // The number of the collective in which others wait for them, or in which they differ. It is 0 if
  // others wait for them in messages only, and always 0 for a cycle, even if other ranks wait for
  // its ranks.
  std::int64_t number = 0;
  bool operator==(const Diagnosis&) const = default;
};

// For people: "ranks 0, 2 wait in all_reduce number 7 (1000 elements); rank 1 has returned, …".
std::string text_of(const HangReport& report);
std::string text_of(const Diagnosis& diagnosis);  // "early_exit, culprit rank 1, number 7"

// A part: defined in solutions/03_collectives/read_the_hang.cpp.
//   Requires  a kind of the list fits the report, in one place of it
Diagnosis diagnose(const HangReport& report);

}  // namespace lockstep::comm
