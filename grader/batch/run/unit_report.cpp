#include "grader/batch/run/unit_report.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/sim/wire/printable.hpp"
#include "grader/sandbox/sandbox.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "/tmp/lockstep-grade-a1B2c3/unit-7/work/x.cpp" → "work/x.cpp": such names differ from run to run.
std::string without_private_folders(std::string_view text) {
  const std::string prefix = PrivateFolder::prefix();
  std::string out;
  for (std::size_t at; (at = text.find(prefix)) != std::string_view::npos;) {
    out += text.substr(0, at);
    text.remove_prefix(at + prefix.size());
    while (!text.empty() && is_alphanumeric(text.front())) text.remove_prefix(1);
    if (text.starts_with("/unit-")) {
      text.remove_prefix(6);
      while (!text.empty() && is_alphanumeric(text.front())) text.remove_prefix(1);
    }
    if (text.starts_with('/')) text.remove_prefix(1);
  }
  return out.append(text);
}

// Names of counters and the like are the lab's; values are cut.
json cut(const json& value, std::size_t bytes_max) {
  if (value.is_string()) return fit_to_print(value.get_ref<const std::string&>(), bytes_max);
  if (!value.is_structured()) return value;
  json out = value.is_array() ? json::array() : json::object();
  for (const auto& [key, part] : value.items()) {
    if (value.is_array()) {
      out.push_back(cut(part, bytes_max));
    } else {
      out[fit_to_print(key, bytes_max)] = cut(part, bytes_max);
    }
  }
  return out;
}

bool is_result(const json& answer) {
  const auto has = [&](const char* key, auto&& is) {
    const auto found = answer.find(key);
    return found != answer.end() && is(*found);
  };
  const auto text = [](const json& value) { return value.is_string(); };
  const auto number = [](const json& value) { return value.is_number_integer(); };
  const auto table = [](const json& value) { return value.is_object(); };
  return answer.is_object() && has("verdict", text) && has("points", number) &&
         has("max_points", number) && has("cause", text) && has("report", table) &&
         has("seconds", table);
}

}  // namespace

std::string fit_to_print(const std::string& text, std::size_t bytes_max) {
  const std::string all = without_private_folders(text);
  const std::string shown = sim::printable(all, all.size());
  const std::string kept = sim::printable(shown, bytes_max);
  if (kept.size() == shown.size()) return kept;
  return kept + "… (" + std::to_string(shown.size() - kept.size()) + " more bytes)";
}

json report_fit_to_print(const json& report) {
  constexpr std::size_t all_max = 1 << 20;
  json out;
  for (const std::size_t bytes_max : std::to_array<std::size_t>({16 << 10, 2 << 10, 200})) {
    out = cut(report, bytes_max);
    if (out.dump().size() <= all_max) break;
  }
  return out;
}

std::optional<json> result_in(const std::string& answer) {
  json result = json::parse(answer, nullptr, false);
  if (result.is_discarded() || !is_result(result)) return std::nullopt;
  return result;
}

}  // namespace lockstep::grader
