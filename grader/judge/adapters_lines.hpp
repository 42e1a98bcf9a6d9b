// A call can come from the adapter that plays the part, such as from a hook that the part is given.
// No student has that file: what is called is said, and not where.
#pragma once

#include <string>

namespace lockstep::grader {

// `said` without the places of calls in adapters: "waits in recv (grader/play/a.hpp:3)" becomes
// "waits in recv".
std::string without_adapters_lines(std::string said);

}  // namespace lockstep::grader
