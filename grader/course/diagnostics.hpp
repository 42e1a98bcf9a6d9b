// What a compiler prints, made fit for someone who has just made a beginner's mistake: the errors
// in the student's own lines, without the tour through the headers behind them. Pure functions of
// text.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::grader {

// The diagnostics of g++ or clang with what only the library's authors need left out: who included
// whom, notes in system headers, and `lockstep::`. An error inside a template is told by the
// student's line that led there. Three errors at most; what follows is often their consequence.
//   file  the student's, as the compiler was given it
//   root  of the repository; paths below it lose it
std::string readable_diagnostics(const std::string& output, const std::string& file,
                                 const std::string& root);

// The first error as one sentence, "work/…/ring.cpp:12:3: 'chunk' was not declared in this scope",
// in the student's file where there is one; with what is likely to mend it, where that is known.
std::string first_error(const std::string& compiler_output, const std::string& file);

// What mends an error, by its text: "; likely a ; is missing …". Empty where that is not known.
std::string advice_for(std::string_view error);

}  // namespace lockstep::grader
