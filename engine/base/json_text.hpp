// JSON as text. The library's reader and writer are templates, and most of what a source costs that
// calls them; here they are compiled once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

// The value in a text that is one JSON document.
//   Throws  nlohmann::json::parse_error, which says where the text is none
nlohmann::json read_json(std::string_view text);

// The same; a text that is no JSON document gives a value that is_discarded().
nlohmann::json read_json_or_discard(std::string_view text);

// A negative indent writes one line, any other a line for each value, a level deeper by so many
// spaces.
//   Throws  nlohmann::json::type_error when a string is not UTF-8
std::string write_json(const nlohmann::json& value, int indent = -1);

// The same; bytes that are not UTF-8 become U+FFFD.
std::string write_any_json(const nlohmann::json& value, int indent = -1);

// The same in one line of ASCII: other characters are written as \u and their number.
std::string write_ascii_json(const nlohmann::json& value);

}  // namespace lockstep
