// Reading one variable of an environment: a text, or a whole number in a range. Each mistake is one
// sentence with the variable, the value seen and the reader's advice.
#pragma once

#include <limits>
#include <string>

#include "engine/launch/environment.hpp"

namespace lockstep::launch {

inline constexpr int int_max = std::numeric_limits<int>::max();

struct Variables {
  const Lookup& lookup;
  std::string advice;  // what to type, the end of every complaint

  bool has(const std::string& name) const { return lookup(name).has_value(); }
  // Throws UsageError when it is absent or empty.
  std::string text_in(const std::string& name) const;
  // The same, and when it is no number from `lowest` to `highest`.
  int number_in(const std::string& name, int lowest, int highest) const;
};

}  // namespace lockstep::launch
