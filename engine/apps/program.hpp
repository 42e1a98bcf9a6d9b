// The frame around every main's own work: an exception becomes one sentence and an exit code.
#pragma once

#include <exception>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <stdexcept>

#include "engine/base/error.hpp"
#include "engine/base/options.hpp"

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

// Thrown if the machine lacks what the command line asks for.
struct Lacking : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `run` under the name a person types, "lab train". Its own code, or 2 for a UsageError, 3 for
// Lacking, 1 for whatever else leaves it.
inline int run_program(const char* name, const std::function<int()>& run) {
  const auto said = [name](const std::exception& error, int code) {
    std::cerr << name << ": " << error.what() << "\n";
    return code;
  };
  try {
    return run();
  } catch (const UsageError& error) {
    return said(error, 2);
  } catch (const Lacking& error) {
    return said(error, 3);
  } catch (const std::exception& error) {
    return said(error, 1);
  }
}

}  // namespace lockstep::apps
