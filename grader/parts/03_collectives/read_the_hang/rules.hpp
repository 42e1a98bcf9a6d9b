// Hangs that are made: a small program for each rank, run until nothing goes on, and what there is
// to say of it then.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/comm/hang_report.hpp"
#include "grader/judge/causes.hpp"

namespace lockstep::grader::read_the_hang {

// The calls of a rank, one after the other; then it returns, or computes for ever. The numbers of
// collectives are filled in when they are called.
struct HangProgram {
  std::vector<comm::CallRecord> calls;
  comm::Activity then = comm::Activity::returned;
};

struct HangCase {
  std::vector<std::vector<int>> groups;  // the members of each; 0 is the world
  std::vector<HangProgram> programs;     // by rank
  comm::Diagnosis right;                 // its number counts calls of the programs
};

// Runs the programs: a message needs both sides, a collective the same call of all members.
comm::HangReport report_of(const HangCase& hang);

// The same hang where rank r is rank numbers[r]; members and culprits are ascending again.
HangCase renumbered(const HangCase& hang, const std::vector<int>& numbers);

// The kinds of hangs there are, each with a name and a way to make one. `draw(n)` gives 0 … n-1.
using Draw = std::function<int(int)>;
// `one`: a single kind is true of a hang. `several`: the simulator may name another of those that
// are, or not all of the culprits.
enum class Kinds : unsigned char { one, several };
struct HangMaker {
  std::string name;  // "a cycle of sends"
  std::function<HangCase(const Draw&)> make;
  Kinds kinds = Kinds::one;
};
std::vector<HangMaker> hang_makers();

// Says what is wrong with `seen`, in a sentence.
Cause likely_cause(const comm::HangReport& report, const comm::Diagnosis& seen,
                   const comm::Diagnosis& right);

}  // namespace lockstep::grader::read_the_hang
