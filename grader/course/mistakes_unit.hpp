// The mutants of a part as programs that its judge can ask: one translation unit
// (grader/course/shared_unit.hpp) with every mutant that is judged "wrong answer" and has a
// sentence, and a list of their functions,
//
//   std::vector<KnownMistake<…>> known_mistakes();   (grader/exam/known_mistakes.hpp)
//
// in the namespace of the part's exam. A part has one function here, which no mutant may call
// without its namespace: it would mean two of them.
#pragma once

#include <string>
#include <vector>

#include "grader/course/mutants.hpp"

namespace lockstep::grader {

//   function  as the reference defines it: "lockstep::ddp::assign_buckets"
//   exam      the namespace of the list: "lockstep::grader::assign_buckets"
//   Throws    UsageError naming the mutant that does not fit the reference or cannot share a unit
std::string mistakes_unit(const std::string& reference, const std::vector<Mutant>& mutants,
                          const std::string& function, const std::string& exam);

}  // namespace lockstep::grader
