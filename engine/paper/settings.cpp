// Settings by key, and from the environment.
#include "engine/paper/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace lockstep::paper {
namespace {

bool read_into(std::string_view text, std::string& into) {
  into = text;
  return true;
}

bool read_into(std::string_view text, bool& into) {
  if (text != "0" && text != "1") return false;
  into = text == "1";
  return true;
}

template <typename T>
bool read_into(std::string_view text, T& into) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) return false;
  into = value;
  return true;
}

struct SettingKey {
  std::string_view key, variable;  // variable: empty where the environment has none
  bool (*read)(std::string_view, Settings&);
  const char* takes;
};

template <auto member>
constexpr SettingKey setting(std::string_view key, std::string_view variable) {
  using T = std::remove_reference_t<decltype(std::declval<Settings&>().*member)>;
  const char* const takes = std::is_same_v<T, bool>          ? "0 or 1"
                            : std::is_same_v<T, std::string> ? "a text"
                            : std::is_same_v<T, double>      ? "a number of seconds"
                                                             : "a whole number";
  return {key, variable,
          [](std::string_view text, Settings& into) { return read_into(text, into.*member); },
          takes};
}

constexpr std::array settings{
    setting<&Settings::seed>("seed", "PAPER_SEED"),
    setting<&Settings::checks>("checks", "PAPER_CHECKS"),
    setting<&Settings::strict>("strict", "PAPER_STRICT"),
    setting<&Settings::counters>("counters", "PAPER_COUNTERS"),
    setting<&Settings::history>("history", "PAPER_HISTORY"),
    setting<&Settings::deadline_s>("deadline_s", "PAPER_DEADLINE"),
    setting<&Settings::instructions_max>("instructions_max", "PAPER_INSTRUCTIONS"),
    setting<&Settings::memory_bytes>("memory_bytes", "PAPER_MEMORY"),
    setting<&Settings::devices>("devices", "PAPER_DEVICES"),
    setting<&Settings::driver>("driver", "PAPER_DRIVER"),
    setting<&Settings::capability>("capability", "PAPER_CAPABILITY"),
    setting<&Settings::fail_allocation>("fail_allocation", "PAPER_FAIL_ALLOCATION"),
    setting<&Settings::fail_launch>("fail_launch", "PAPER_FAIL_LAUNCH"),
    setting<&Settings::fail_call>("fail_call", "PAPER_FAIL_CALL"),
    setting<&Settings::fail_collective>("fail_collective", "PAPER_FAIL_COLLECTIVE"),
    setting<&Settings::skip_event_wait>("skip_event_wait", "PAPER_SKIP_EVENT_WAIT"),
    setting<&Settings::skip_wait>("skip_wait", "PAPER_SKIP_WAIT"),
    setting<&Settings::move_launch>("move_launch", "PAPER_MOVE_LAUNCH"),
    setting<&Settings::grid_max>("grid_max", "PAPER_GRID"),
    setting<&Settings::ptx_edit>("ptx_edit", "PAPER_PTX_EDIT"),
    setting<&Settings::edit_call>("edit_call", ""),
    setting<&Settings::edit_as>("edit_as", "")};

[[noreturn]] void refuse(const std::string& sentence) {
  std::fprintf(stderr, "paper: %s\n", sentence.c_str());
  std::_Exit(2);
}

std::string all_variables() {
  std::string all;
  for (const SettingKey& each : settings) {
    if (each.variable.empty()) continue;
    all += (all.empty() ? "" : ", ") + std::string(each.variable);
  }
  return all;
}

}  // namespace

bool configure(Settings& into, std::string_view key, std::string_view value) {
  const auto meant = std::ranges::find(settings, key, &SettingKey::key);
  return meant != settings.end() && meant->read(value, into);
}

Settings settings_of_environment() {
  Settings made;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view assignment(*each);
    if (!assignment.starts_with("PAPER_")) continue;
    const std::size_t sign = std::min(assignment.find('='), assignment.size() - 1);
    const std::string variable(assignment.substr(0, sign)), value(assignment.substr(sign + 1));
    const auto meant = std::ranges::find(settings, variable, &SettingKey::variable);
    if (meant == settings.end()) {
      refuse("there is no variable " + variable + "; its variables are " + all_variables());
    }
    if (!meant->read(value, made)) {
      refuse(variable + " takes " + meant->takes + ", not '" + value + "'");
    }
  }
  return made;
}

}  // namespace lockstep::paper
