#include "engine/checkpoint/train_state.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace lockstep::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

// Reads fields one by one and remembers which, so that one too many is seen.
class Fields {
 public:
  Fields(const Json& object, const std::string& file) : object_(object), file_(file) {
    if (!object.is_object()) refuse("an object with the fields of a training state", object);
  }

  std::int64_t count(const char* name) {
    const Json& value = field(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
      refuse(text(name, " as a whole number from 0"), value);
    }
    return value.get<std::int64_t>();
  }
  std::uint64_t bits(const char* name) {
    const Json& value = field(name);
    if (!value.is_number_unsigned()) refuse(text(name, " as a whole number from 0"), value);
    return value.get<std::uint64_t>();
  }
  float number(const char* name) {
    const Json& value = field(name);
    if (!value.is_number() || std::abs(value.get<double>()) > std::numeric_limits<float>::max()) {
      refuse(text(name, " as a number of float32"), value);
    }
    return value.get<float>();
  }
  Metadata strings(const char* name) {
    Metadata strings;
    const Json& value = field(name);
    if (!value.is_object()) refuse(text(name, " as an object of strings"), value);
    for (const auto& [key, entry] : value.items()) {
      if (!entry.is_string()) refuse(text(name, " as an object of strings"), entry);
      strings[key] = entry.get<std::string>();
    }
    return strings;
  }
  const Json* optional(const char* name) { return object_.contains(name) ? &field(name) : nullptr; }
  void done() const {
    if (object_.size() != read_) refuse(text("no more than ", read_, " fields"), object_);
  }

 private:
  const Json& field(const char* name) {
    if (!object_.contains(name)) refuse(text("the field ", name), object_);
    ++read_;
    return object_[name];
  }
  [[noreturn]] void refuse(const std::string& expected, const Json& seen) const {
    throw CheckpointError(text(file_, ": expected ", expected, ", found ", quoted(seen.dump())));
  }

  const Json& object_;
  const std::string& file_;
  std::size_t read_ = 0;
};

}  // namespace

std::string train_state_text(const TrainState& state) {
  Json json = {{"step", state.step},
               {"epoch", state.epoch},
               {"taken", state.taken},
               {"seed", state.seed},
               {"notes", state.notes}};
  if (state.loss_scaler) {
    json["loss_scaler"] = {{"scale", state.loss_scaler->scale},
                           {"clean_updates", state.loss_scaler->clean_updates}};
  }
  return json.dump(2) + "\n";
}

TrainState parse_train_state(const std::string& json, const std::string& file) {
  // Nothing here lies deeper than a note; and of two equal names a parser keeps one in silence.
  std::array<std::set<std::string>, 4> names;  // by depth
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth + 1 >= static_cast<int>(names.size())) {
      throw CheckpointError(text(file, ": fields in fields in fields; a training state has none"));
    }
    auto& seen = names[static_cast<std::size_t>(depth)];
    if (event == Json::parse_event_t::object_end)
      names[static_cast<std::size_t>(depth) + 1].clear();
    if (event == Json::parse_event_t::key && !seen.insert(parsed.get<std::string>()).second) {
      throw CheckpointError(text(file, ": the field ", parsed.dump(), " is there twice"));
    }
    return true;
  };
  Json parsed;
  try {
    parsed = Json::parse(json, watch);
  } catch (const Json::exception& error) {
    throw CheckpointError(text(file, ": no JSON (", quoted(error.what()), ")"));
  }
  Fields fields(parsed, file);
  TrainState state{.step = fields.count("step"),
                   .epoch = fields.count("epoch"),
                   .taken = fields.count("taken"),
                   .seed = fields.bits("seed"),
                   .notes = fields.strings("notes")};
  if (const Json* scaler = fields.optional("loss_scaler")) {
    Fields inner(*scaler, file);
    state.loss_scaler = {inner.number("scale"), inner.count("clean_updates")};
    inner.done();
  }
  fields.done();
  return state;
}

}  // namespace lockstep::checkpoint
