// A lesson's command, run with its output shown as it comes, or kept for the caller.
#pragma once

#include <string>

#include "grader/lab/lab.hpp"

namespace lockstep::grader {

enum class Shown : unsigned char { as_it_comes, not_at_all };

struct ShownRun {
  std::string output;  // stdout and stderr together
  double seconds = 0;
};

// Runs the command in the root, with a shell. What it needs of the build is built before. Ctrl-C
// ends it with everything it has started, and then this process.
//   Throws  Error when it fails, or does not end within five minutes
ShownRun run_shown(const Lab& lab, const std::string& command, Shown shown);

}  // namespace lockstep::grader
