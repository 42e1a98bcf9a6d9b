// One helper per kind of value; a range is part of a number's meaning.
#include "engine/launch/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

constexpr const char* advice =
    "start the program with ./lab run --ranks 2 -- PROGRAM, which sets it";
constexpr int int_max = std::numeric_limits<int>::max();

std::string text_in(const Lookup& lookup, const std::string& name) {
  const auto value = lookup(name);
  if (!value) throw UsageError(text(name, " is not set: ", advice));
  if (value->empty()) throw UsageError(text(name, " is set but empty: ", advice));
  return *value;
}

int number_in(const Lookup& lookup, const std::string& name, int lowest, int highest) {
  const std::string value = text_in(lookup, name);
  int number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw UsageError(text(name, " is \"", value, "\", which is no whole number: ", advice));
  }
  if (number < lowest || number > highest) {
    const std::string range =
        highest == int_max ? text("at least ", lowest) : text("from ", lowest, " to ", highest);
    throw UsageError(text(name, " is ", number, ", but it must be ", range, ": ", advice));
  }
  return number;
}

}  // namespace

Lookup process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

bool is_launched(const Lookup& lookup) { return lookup("RANK") || lookup("WORLD_SIZE"); }

Environment read_environment(const Lookup& lookup) {
  Environment found;
  found.world_size = number_in(lookup, "WORLD_SIZE", 1, int_max);
  found.rank = number_in(lookup, "RANK", 0, found.world_size - 1);
  found.local_world_size = number_in(lookup, "LOCAL_WORLD_SIZE", 1, found.world_size);
  found.local_rank = number_in(lookup, "LOCAL_RANK", 0, found.local_world_size - 1);
  found.master_addr = text_in(lookup, "MASTER_ADDR");
  found.master_port = number_in(lookup, "MASTER_PORT", 1, 65535);
  if (lookup("TORCHELASTIC_RESTART_COUNT")) {
    found.restart_count = number_in(lookup, "TORCHELASTIC_RESTART_COUNT", 0, int_max);
  }
  return found;
}

}  // namespace lockstep::launch
