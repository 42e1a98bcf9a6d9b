// The frame around every main. It puts in order what a process inherits, turns each error into one
// sentence and an exit code, and lets a program say success only if its output has arrived.
//
//   descriptors  0, 1 and 2 are open: the closed ones on /dev/null. Otherwise the program's own
//                pipes and files would get these numbers, and be written to as if they were output
//   stderr       a line is one write, so that sentences of several processes do not mix
//   errors       the standard library's are said in our words (standard_errors.hpp)
//   stdout       is flushed and looked at before the end: on a full disk, success would be a lie
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/standard_errors.hpp"

namespace lockstep {

enum class Fault : std::uint8_t { usage, lacking, other };  // UsageError; Lacking; whatever else

// Tells a person the sentence, and returns the exit code that goes with the fault.
using Teller = std::function<int(Fault fault, const std::string& sentence)>;

// Returns, for main, the code of `run`, or of the fault that ended it. When standard output did not
// take all that was printed, that is a fault of the kind `lacking`, whatever `run` returned.
// May be called again in a forked child, which answers for what it prints itself.
int run_main(const Teller& tell, const std::function<int()>& run);

// "" when standard output has taken all that was printed, otherwise why it has not.
std::string why_output_is_lost();

}  // namespace lockstep
