// The failure of a part that should have thrown, but returned or threw something else.
#pragma once

#include <string>
#include <string_view>

#include "grader/judge/case_runner.hpp"
#include "grader/play/ending.hpp"

namespace lockstep::grader {

// "std::length_error (\"too many bytes\")"; of an ending that is no return.
std::string thrown_text(const Ending& ending);

// The failure of an ending that is not the exception `wanted`, as in "ContractError". `asked` says
// of what: "0 ranks", "a negative bound".
//   Requires  ending.kind is not threw_expected
Failure wrong_ending(const Ending& ending, std::string_view wanted, const std::string& asked);

// The failure of an error of another type than the contract names, where nothing was to be refused:
// the part broke down.
//   Requires  ending.kind is threw_other
Failure unexpected_error(const Ending& ending, const std::string& asked);

// Makes a wrong answer of a crash that is none: a part that cuts a tensor where it has no elements,
// or leaves one of a wrong size, has a wrong place in its code and has not broken down.
void tell_wrong_size(Failure& found);

}  // namespace lockstep::grader
