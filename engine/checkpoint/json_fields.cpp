#include "engine/checkpoint/json_fields.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace lockstep::checkpoint {

Json parse_json(const std::string& json, const std::string& file, int depth_max) {
  std::vector<std::set<std::string>> names(static_cast<std::size_t>(depth_max) + 1);  // by depth
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth >= depth_max) {
      throw CheckpointError(
          text(file, ": fields in fields in fields; it has no more than ", depth_max, " levels"));
    }
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_end) names[level + 1].clear();
    if (event == Json::parse_event_t::key &&
        !names[level].insert(parsed.get<std::string>()).second) {
      throw CheckpointError(text(file, ": the field ", parsed.dump(), " is there twice"));
    }
    return true;
  };
  try {
    return Json::parse(json, watch);
  } catch (const Json::exception& error) {
    throw CheckpointError(text(file, ": no JSON (", quoted(error.what()), ")"));
  }
}

void check_format(Fields& fields, const std::string& format, const std::string& where) {
  const std::string seen = fields.word("format");
  if (seen == format) return;
  const std::size_t number = format.rfind(' ') + 1;
  const bool newer = seen.starts_with(std::string_view(format).substr(0, number)) &&
                     seen.size() > number &&
                     std::all_of(seen.begin() + static_cast<std::ptrdiff_t>(number), seen.end(),
                                 [](char c) { return '0' <= c && c <= '9'; }) &&
                     seen[number] != '0';
  if (!newer) fields.refuse(text("the format \"", format, "\""), seen);
  throw NewerFormat(text(where, " has the format ", quoted(seen), ", and this program reads \"",
                         format,
                         "\": a newer version of Lockstep wrote it; use that version. "
                         "Nothing was changed"));
}

Fields::Fields(const Json& object, const std::string& where) : object_(object), where_(where) {
  if (!object.is_object()) refuse("an object with fields", object);
}

std::int64_t Fields::count(const char* name) {
  const Json& value = any(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
    refuse(text(name, " as a whole number from 0"), value);
  }
  return value.get<std::int64_t>();
}

std::uint64_t Fields::bits(const char* name) {
  const Json& value = any(name);
  if (!value.is_number_unsigned()) refuse(text(name, " as a whole number from 0"), value);
  return value.get<std::uint64_t>();
}

float Fields::number(const char* name) {
  const Json& value = any(name);
  if (!value.is_number() || std::abs(value.get<double>()) > std::numeric_limits<float>::max()) {
    refuse(text(name, " as a number of float32"), value);
  }
  return value.get<float>();
}

std::string Fields::word(const char* name) {
  const Json& value = any(name);
  if (!value.is_string()) refuse(text(name, " as a string"), value);
  return value.get<std::string>();
}

Shape Fields::sizes(const char* name) {
  const Json& value = list(name);
  if (value.size() > Shape::axes_max) refuse(text(name, " of at most ", Shape::axes_max), value);
  Shape sizes;
  for (const Json& size : value) {
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX) {
      refuse(text(name, " as whole numbers from 0"), value);
    }
    sizes.push_back(size.get<std::int64_t>());
  }
  return sizes;
}

Metadata Fields::strings(const char* name) {
  Metadata strings;
  const Json& value = any(name);
  if (!value.is_object()) refuse(text(name, " as an object of strings"), value);
  for (const auto& [key, entry] : value.items()) {
    if (!entry.is_string()) refuse(text(name, " as an object of strings"), entry);
    strings[key] = entry.get<std::string>();
  }
  return strings;
}

const Json& Fields::list(const char* name) {
  const Json& value = any(name);
  if (!value.is_array()) refuse(text(name, " as a list"), value);
  return value;
}

const Json& Fields::any(const char* name) {
  if (!object_.contains(name)) refuse(text("the field ", name), object_);
  ++read_;
  return object_[name];
}

const Json* Fields::optional(const char* name) {
  return object_.contains(name) ? &any(name) : nullptr;
}

void Fields::done() const {
  if (object_.size() != read_) refuse(text("no more than ", read_, " fields"), object_);
}

void Fields::refuse(const std::string& expected, const Json& seen) const {
  const auto shown = Json::error_handler_t::replace;
  throw CheckpointError(
      text(where_, ": expected ", expected, ", found ", quoted(seen.dump(-1, ' ', false, shown))));
}

}  // namespace lockstep::checkpoint
