// is_any says whether an exception that was caught by its root is of one of several types.
#pragma once

#include <exception>

namespace lockstep {

template <typename... Types>
bool is_any(const std::exception& error) {
  return (... || (dynamic_cast<const Types*>(&error) != nullptr));
}

}  // namespace lockstep
