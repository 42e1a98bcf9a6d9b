// The wrong answers to an exercise: tests/exercises/NN_lesson/part/mutants.toml. Each mutant is the
// reference with some of its text exchanged.
//
//   [[mutant]]
//   name = "own_value_twice"
//   verdict = "crash"            what it must be judged; without this line, "wrong answer"
//   says = "is added 2 times"    words of the reason
//   likely = "this rank's own value was in the sum already"
//                                the likely cause, as a student reads it, of an answer that is what
//                                this mutant gives (grader/course/proofs/mistakes_unit.hpp); it is
//                                the reason, too, so that `says` may be left out. Not for a part
//                                that accepts what it should refuse: results hold its own sentences
//                                for all other refusals of the case
//   first = "on 1 to 8"          how the name of the check begins that it fails first; `likely`
//                                needs it, as an answer that fails another check is not alike
//   find = 'sum.copy_(data);'    text that stands in the reference exactly once
//   put = 'sum.reduce_(data);'   what stands there in the mutant
//
// Names are words of a to z, 0 to 9 and _. A long passage is named by its ends: `through` is text
// that follows `find`, and all from `find` to the end of its next occurrence is replaced. A mutant
// of several changes has [[mutant.edit]] tables, each with find, put and perhaps through; all are
// looked up in the reference, so their order does not matter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Edit {
  std::string find, through, put;
  std::string where;  // "tests/…/mutants.toml:12", the line of `find`
};

struct Mutant {
  std::string name, verdict;
  std::string says;    // words of the reason; without any, `likely`
  std::string likely;  // empty: an answer like this mutant's is told in other words
  std::string first;   // how the name of the check begins that it fails first
  std::vector<Edit> edits;
};

// A mutant that is not written as above is left out, and there is a problem for it: one sentence
// that names file and line.
struct MutantList {
  std::vector<Mutant> mutants;
  std::vector<std::string> problems;
};

//   Throws  UsageError with file and line when the file is missing or is no TOML
MutantList read_mutants(const std::filesystem::path& file);

//   Throws  UsageError with file and line when a text to find is absent, is there more than once or
//           overlaps another, or when nothing changes
std::string mutated(const std::string& reference, const Mutant& mutant);

}  // namespace lockstep::grader
