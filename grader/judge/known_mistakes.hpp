// Names the mistake behind a failed check. The mutants of a part that have a sentence are one
// program (lockstep_mistakes, cmake/parts.cmake), and its argument chooses which of them is played.
// The judge plays the failing case with those that fail the same check first; the one that gives
// the same evidence is the likely cause. The exam decides by itself what is right; a mistake only
// explains.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader {

// One of the program's mutants. Its number is its place in the list, from 1.
struct KnownMistake {
  std::string check;  // how the name begins of the check that it fails first
  Cause cause;
};

// The list that stands beside the program, PROGRAM.list: a line "name<tab>check<tab>sentence" for
// each.
//   Throws  Error for a file that is missing or has another form
std::vector<KnownMistake> read_mistakes(const std::string& program);

// True where both could come from the same mistake: they fail alike, and the ranks' results are the
// same but for the last digits of numbers, in which two orders of adding may differ.
bool same_evidence(const Evidence& seen, const Evidence& other);

// The cause of `failure`, which check `check` threw and which began at `began_at`. The smallest
// failing case is played again by the student's part and by the mistakes, and so is the case that
// failed at first. nullopt when no mistake gives the same evidence in both, or when several do that
// have different sentences.
//   player, options  as they are judged
std::optional<Cause> known_cause(const std::string& exercise,
                                 const std::vector<std::string>& player,
                                 const JudgeOptions& options, const Check& check,
                                 const CaseRunner::Place& began_at, const Failure& failure);

}  // namespace lockstep::grader
