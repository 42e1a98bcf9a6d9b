// The known mistakes of a part, for the judge to play (grader/judge/known_mistakes.hpp): every
// mutant that has a sentence, `likely`, and the check that it fails first. They are one translation
// unit (grader/course/proofs/shared_unit.hpp), which is linked as a student's file is. Each of the
// part's functions is a jump into the mutant whose number the program is given; with 0, into
// nothing.
#pragma once

#include <string>
#include <vector>

#include "grader/course/proofs/mutants.hpp"
#include "grader/course/proofs/object_symbols.hpp"

namespace lockstep::grader {

struct MistakesUnit {
  std::string source;
  std::string list;  // a line "name<tab>check<tab>sentence" for each
};

//   Throws  UsageError naming the mutant that does not fit the reference or cannot share a unit
MistakesUnit mistakes_unit(const std::string& reference, const std::vector<Mutant>& mutants);

// The source that has the part's functions, by the names for the linker.
//   part   the functions of the reference
//   unit   what the object of the source defines
//   list   of the unit
//   Throws UsageError naming the mutant that lacks a function of the part
std::string mistakes_table(const LinkedNames& part, const std::vector<Symbol>& unit,
                           const std::string& list);

}  // namespace lockstep::grader
