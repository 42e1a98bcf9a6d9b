// A TOML file as JSON values, so that the large TOML header is compiled once.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::grader {

// Tables, arrays, strings, integers, numbers and truth values; dates are read as text.
//   Throws  UsageError with file and line when the file is missing or is no TOML
nlohmann::json read_toml(const std::filesystem::path& file);

// The same of a text; `name` is what messages call it. Anything may be in it: what is nested more
// deeply than any quiz is refused before it is parsed, since the parser would recurse.
//   Throws  UsageError as above
nlohmann::json parse_toml(const std::string& content, const std::string& name);

// The same; every table has one more entry, `toml_lines`: on which line each of its values begins,
// and under "" the table itself.
inline constexpr const char* toml_lines = "#lines";
nlohmann::json read_toml_with_lines(const std::filesystem::path& file);

}  // namespace lockstep::grader
