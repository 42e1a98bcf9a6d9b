// The frame of the engine's mains: how they name themselves, and their exit codes.
#pragma once

#include <functional>
#include <initializer_list>
#include <iostream>
#include <string>

#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/program.hpp"

namespace lockstep::apps {

// Refuses the options that ask for other parts: a program has its parts linked in, so ./lab starts
// another one. `command` is what a person types instead.
inline void leave_to_lab(const Arguments& arguments, std::initializer_list<const char*> names,
                         const std::string& command) {
  for (const char* name : names) {
    if (!arguments.given(name)) continue;
    throw UsageError(text("--", name, " takes other parts, which ./lab links; run ", command, " --",
                          name, " ", arguments.get(name)));
  }
}

using lockstep::Lacking;

// `run` in the frame of every main (engine/base/program.hpp), under the name a person types, "lab
// train". Its own code, or 2 for a UsageError, 3 for Lacking, 1 for whatever else leaves it.
inline int run_program(const char* name, const std::function<int()>& run) {
  const auto said = [name](Fault fault, const std::string& sentence) {
    std::cerr << text(name, ": ", sentence, "\n");
    return fault == Fault::usage ? 2 : fault == Fault::lacking ? 3 : 1;
  };
  return run_main(said, run);
}

}  // namespace lockstep::apps
