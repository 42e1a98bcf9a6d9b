// Options that several ways to train and the program read from one command line in the same manner.
// The file is as light as the declarations.
#pragma once

#include <cstdint>

#include "engine/base/options.hpp"

namespace lockstep::train {

inline bool is_gpt(const Arguments& arguments) { return arguments.has("--model gpt"); }

inline std::int64_t batch_size_of(const Arguments& arguments) {
  return arguments.integer("batch-size", 1);
}

// Or tensors with shapes only.
inline bool has_numbers(const Arguments& arguments) {
  return !arguments.flag("sizes-only") && !arguments.flag("modelled-compute");
}

// The refusal of an option in a run without numbers.
inline constexpr const char* needs_numbers =
    "belongs to runs with numbers, not to --sizes-only or --modelled-compute; leave it out";

}  // namespace lockstep::train
