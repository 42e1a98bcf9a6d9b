#include "engine/launch/variables.hpp"

#include <charconv>

#include "engine/base/error.hpp"

namespace lockstep::launch {

std::string Variables::text_in(const std::string& name) const {
  const auto value = lookup(name);
  if (!value) throw UsageError(text(name, " is not set: ", advice));
  if (value->empty()) throw UsageError(text(name, " is set but empty: ", advice));
  return *value;
}

int Variables::number_in(const std::string& name, int lowest, int highest) const {
  const std::string value = text_in(name);
  int number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw UsageError(text(name, " is \"", value, "\", which is not a whole number: ", advice));
  }
  if (number < lowest || number > highest) {
    const std::string range =
        highest == int_max ? text("at least ", lowest) : text("from ", lowest, " to ", highest);
    throw UsageError(text(name, " is ", number, ", but it must be ", range, ": ", advice));
  }
  return number;
}

}  // namespace lockstep::launch
