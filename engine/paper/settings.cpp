// Settings by key, and from the environment.
#include "engine/paper/settings.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace lockstep::paper {
namespace {

template <typename T>
bool read_number(std::string_view text, T& into) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  into = value;
  return true;
}

bool read_switch(std::string_view text, bool& into) {
  if (text != "0" && text != "1") return false;
  into = text == "1";
  return true;
}

struct Variable {
  const char* variable;
  const char* key;
};
constexpr std::array<Variable, 20> variables{{{"PAPER_SEED", "seed"},
                                              {"PAPER_CHECKS", "checks"},
                                              {"PAPER_STRICT", "strict"},
                                              {"PAPER_COUNTERS", "counters"},
                                              {"PAPER_HISTORY", "history"},
                                              {"PAPER_DEADLINE", "deadline_s"},
                                              {"PAPER_INSTRUCTIONS", "instructions_max"},
                                              {"PAPER_MEMORY", "memory_bytes"},
                                              {"PAPER_DEVICES", "devices"},
                                              {"PAPER_DRIVER", "driver"},
                                              {"PAPER_CAPABILITY", "capability"},
                                              {"PAPER_FAIL_ALLOCATION", "fail_allocation"},
                                              {"PAPER_FAIL_LAUNCH", "fail_launch"},
                                              {"PAPER_FAIL_CALL", "fail_call"},
                                              {"PAPER_SKIP_EVENT_WAIT", "skip_event_wait"},
                                              {"PAPER_FAIL_COLLECTIVE", "fail_collective"},
                                              {"PAPER_GRID", "grid_max"},
                                              {"PAPER_SKIP_WAIT", "skip_wait"},
                                              {"PAPER_MOVE_LAUNCH", "move_launch"},
                                              {"PAPER_PTX_EDIT", "ptx_edit"}}};

}  // namespace

bool configure(Settings& settings, std::string_view key, std::string_view value) {
  if (key == "seed") return read_number(value, settings.seed);
  if (key == "checks") return read_switch(value, settings.checks);
  if (key == "strict") return read_switch(value, settings.strict);
  if (key == "counters") return read_switch(value, settings.counters);
  if (key == "history") return read_switch(value, settings.history);
  if (key == "deadline_s") return read_number(value, settings.deadline_s);
  if (key == "instructions_max") return read_number(value, settings.instructions_max);
  if (key == "memory_bytes") return read_number(value, settings.memory_bytes);
  if (key == "devices") return read_number(value, settings.devices);
  if (key == "driver") return read_number(value, settings.driver);
  if (key == "capability") return read_number(value, settings.capability);
  if (key == "fail_allocation") return read_number(value, settings.fail_allocation);
  if (key == "fail_launch") return read_number(value, settings.fail_launch);
  if (key == "fail_call") return read_number(value, settings.fail_call);
  if (key == "fail_collective") return read_number(value, settings.fail_collective);
  if (key == "skip_event_wait") return read_number(value, settings.skip_event_wait);
  if (key == "grid_max") return read_number(value, settings.grid_max);
  if (key == "skip_wait") return read_number(value, settings.skip_wait);
  if (key == "move_launch") return read_number(value, settings.move_launch);
  if (key == "edit_call") return read_number(value, settings.edit_call);
  if (key == "edit_as") {
    settings.edit_as = value;
    return true;
  }
  if (key == "ptx_edit") {
    settings.ptx_edit = value;
    return true;
  }
  return false;
}

Settings settings_of_environment() {
  Settings settings;
  for (const auto& [variable, key] : variables) {
    const char* value = std::getenv(variable);
    if (value == nullptr || configure(settings, key, value)) continue;
    std::fprintf(stderr, "paper: %s=%s does not read; it sets '%s'\n", variable, value, key);
    std::_Exit(2);
  }
  return settings;
}

}  // namespace lockstep::paper
