// The standard library's errors in our words. std::bad_alloc, a filesystem_error or an out_of_range
// say what failed inside the library; a person needs to read what it was about and what to do.
#pragma once

#include <functional>
#include <stdexcept>

#include "engine/base/error.hpp"

namespace lockstep {

// The machine lacks what the command line asks for: a program, memory, room on a disk.
struct Lacking : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs `run`. An error of the standard library leaves it as one of ours: as Lacking when memory, a
// disk or the system's number of threads is at its end, otherwise as Error. Our own errors, and
// other libraries' std::runtime_error, leave it as they are.
int in_our_words(const std::function<int()>& run);

// The same for one error of a file or folder: "'/data/run': Permission denied; …".
std::string told_of_file(const std::exception& error);

}  // namespace lockstep
