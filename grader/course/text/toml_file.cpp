#include "grader/course/text/toml_file.hpp"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/course/text/toml_depth.hpp"

namespace lockstep::grader {
namespace {

enum class Lines : unsigned char { left_out, noted };

nlohmann::json json_of(const toml::node& node, Lines lines) {
  if (const auto* table = node.as_table()) {
    auto out = nlohmann::json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      out[name] = json_of(value, lines);
      if (lines == Lines::noted) out[toml_lines][name] = value.source().begin.line;
    }
    if (lines == Lines::noted) out[toml_lines][""] = table->source().begin.line;
    return out;
  }
  if (const auto* array = node.as_array()) {
    auto out = nlohmann::json::array();
    for (const auto& value : *array) out.push_back(json_of(value, lines));
    return out;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  std::ostringstream text_of_date;
  node.visit([&](const auto& value) { text_of_date << value; });
  return text_of_date.str();
}

nlohmann::json parsed(const std::string& content, const std::string& name, Lines lines) {
  if (const auto problem = unfit_for_toml(content)) {
    throw UsageError(
        text(name, problem->line > 0 ? text(":", problem->line) : "", ": ", problem->sentence));
  }
  try {
    return json_of(toml::parse(content), lines);
  } catch (const toml::parse_error& error) {
    const std::string problem(error.description());
    // A text without an end may also end at a quote in the comment behind it.
    const bool in_text = problem.find("string: ") != std::string::npos ||
                         problem.find("expected a comment") != std::string::npos;
    throw UsageError(text(
        name, ":", error.source().begin.line, ": not valid TOML: ", problem,
        in_text ? " (is a closing quote missing?)" : " (write text answers in \"double quotes\")"));
  }
}

nlohmann::json read(const std::filesystem::path& file, Lines lines) {
  if (!std::filesystem::is_regular_file(file)) {
    throw UsageError(text("there is no file ", file.string()));
  }
  return parsed(read_text(file), file.string(), lines);
}

}  // namespace

nlohmann::json parse_toml(const std::string& content, const std::string& name) {
  return parsed(content, name, Lines::left_out);
}

nlohmann::json read_toml(const std::filesystem::path& file) { return read(file, Lines::left_out); }

nlohmann::json read_toml_with_lines(const std::filesystem::path& file) {
  return read(file, Lines::noted);
}

}  // namespace lockstep::grader
