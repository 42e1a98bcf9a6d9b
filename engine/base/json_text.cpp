#include "engine/base/json_text.hpp"

#include <nlohmann/json.hpp>

namespace lockstep {

using nlohmann::json;

json read_json(std::string_view text) { return json::parse(text); }

json read_json_or_discard(std::string_view text) { return json::parse(text, nullptr, false); }

std::string write_json(const json& value, int indent) { return value.dump(indent); }

std::string write_any_json(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string write_ascii_json(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace lockstep
