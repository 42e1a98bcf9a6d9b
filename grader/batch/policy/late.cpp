#include "grader/batch/policy/late.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/policy/date_time.hpp"
#include "grader/course/text/toml_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;
constexpr std::int64_t day_s = 24 * 60 * 60;

// A table of the file; what is wrong in it is said with its line and its key.
class LateTable {
 public:
  LateTable(const json& table, std::string file) : table_(table), file_(std::move(file)) {}

  [[noreturn]] void refuse_key(const std::string& key, const std::string& expected) const {
    throw UsageError(
        text(file_, ":", table_.at(toml_lines).value(key, 1), ": ", key, ": expected ", expected));
  }
  std::int64_t moment(const std::string& key, int* zone = nullptr) const {
    const json& value = table_.at(key);
    const auto found = value.is_string() ? date_time_in(value.get<std::string>()) : std::nullopt;
    if (!found || !found->zone_minutes)
      refuse_key(key, std::string(date_time_form) + ", with a zone");
    if (!is_plausible(*found)) refuse_key(key, plausible_years);
    if (zone != nullptr) *zone = *found->zone_minutes;
    return found->seconds;
  }
  int whole(const std::string& key, int least, int most) const {
    const json& value = table_.at(key);
    const bool fits = value.is_number_integer() && value.get<std::int64_t>() >= least &&
                      value.get<std::int64_t>() <= most;
    if (!fits) refuse_key(key, text("a whole number from ", least, " to ", most));
    return value.get<int>();
  }
  bool has(const std::string& key) const { return table_.contains(key); }
  LateTable below(const std::string& key) const {
    if (!table_.at(key).is_object()) refuse_key(key, "a table, [" + key + "]");
    return {table_.at(key), file_};
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : table_.items()) {
      if (key != toml_lines) all.push_back(key);
    }
    return all;
  }
  bool is_number(const std::string& key) const { return table_.at(key).is_number(); }

  // "05" → "05_data_parallel", "ring_all_reduce" → "06_all_reduce/ring_all_reduce".
  std::string place(const std::string& key, const std::string& name, const Course& course) const {
    for (const Lesson& lesson : course.lessons) {
      if (lesson.number() == name || lesson.folder == name) return lesson.folder;
    }
    try {
      return exercise_named(course, name).address();
    } catch (const UsageError& unknown) {
      refuse_key(key, text("a lesson or an exercise (", unknown.what(), ")"));
    }
  }

 private:
  const json& table_;
  std::string file_;
};

constexpr std::array known_keys{"deadline",      "loss_per_day", "cap",       "days_max",
                                "grace_minutes", "deadlines",    "extensions"};

void refuse_unknown_keys(const LateTable& table) {
  const std::vector<std::string> known(known_keys.begin(), known_keys.end());
  for (const std::string& key : table.keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    table.refuse_key(key,
                     "one of deadline, loss_per_day, cap, days_max, grace_minutes, "
                     "[deadlines], [extensions]" +
                         did_you_mean(key, known));
  }
}

void read_extensions(const LateTable& table, const Course& course, LatePolicy& policy) {
  constexpr int days_most = 366;
  for (const std::string& key : table.keys()) {
    const std::size_t slash = slash_before_exercise(key);
    std::string who = readable_name(key.substr(0, slash));
    if (slash != std::string::npos) who += "/" + table.place(key, key.substr(slash + 1), course);
    LatePolicy::Extension extension;
    if (table.is_number(key)) {
      extension.days = table.whole(key, 0, days_most);
    } else {
      extension.until = table.moment(key);
    }
    policy.extensions[who] = extension;
  }
}

template <class Value>
const Value* found_in(const std::map<std::string, Value>& all, const std::string& key) {
  const auto at = all.find(key);
  return at == all.end() ? nullptr : &at->second;
}

}  // namespace

LatePolicy read_late(const std::filesystem::path& file, const Course& course) {
  constexpr int grace_most = 24 * 60, days_most = 366;
  const json document = read_toml_with_lines(file);
  const LateTable table(document, file.string());
  refuse_unknown_keys(table);
  for (const char* key : {"deadline", "loss_per_day"}) {
    if (table.has(key)) continue;
    throw UsageError(text(file.string(), ": there is no ", key,
                          "; it needs deadline = 2026-11-20T23:59:00+01:00 and loss_per_day = 10"));
  }
  LatePolicy policy;
  policy.deadline = table.moment("deadline", &policy.zone_minutes);
  policy.loss_per_day = table.whole("loss_per_day", 0, 100);
  if (table.has("cap")) policy.cap = table.whole("cap", 0, 100);
  if (table.has("days_max")) policy.days_max = table.whole("days_max", 0, days_most);
  if (table.has("grace_minutes"))
    policy.grace_minutes = table.whole("grace_minutes", 0, grace_most);
  if (table.has("deadlines")) {
    const LateTable deadlines = table.below("deadlines");
    for (const std::string& key : deadlines.keys()) {
      policy.deadlines[deadlines.place(key, key, course)] = deadlines.moment(key);
    }
  }
  if (table.has("extensions")) read_extensions(table.below("extensions"), course, policy);
  return policy;
}

json json_of(const LatePolicy& policy) {
  json extensions = json::object();
  for (const auto& [who, extension] : policy.extensions) {
    extensions[who] =
        extension.until ? json{{"until", *extension.until}} : json{{"days", extension.days}};
  }
  return {{"deadline", policy.deadline},
          {"zone_minutes", policy.zone_minutes},
          {"loss_per_day", policy.loss_per_day},
          {"cap", policy.cap},
          {"days_max", policy.days_max ? json(*policy.days_max) : json()},
          {"grace_minutes", policy.grace_minutes},
          {"deadlines", policy.deadlines},
          {"extensions", std::move(extensions)}};
}

LatePolicy late_from(const json& record) {
  LatePolicy policy;
  policy.deadline = record.at("deadline");
  policy.zone_minutes = record.at("zone_minutes");
  policy.loss_per_day = record.at("loss_per_day");
  policy.cap = record.at("cap");
  if (!record.at("days_max").is_null()) policy.days_max = record.at("days_max").get<int>();
  policy.grace_minutes = record.at("grace_minutes");
  policy.deadlines = record.at("deadlines").get<std::map<std::string, std::int64_t>>();
  for (const auto& [who, extension] : record.at("extensions").items()) {
    LatePolicy::Extension& one = policy.extensions[who];
    if (extension.contains("until")) one.until = extension.at("until").get<std::int64_t>();
    one.days = extension.value("days", 0);
  }
  return policy;
}

std::int64_t due(const LatePolicy& policy, const std::string& student, const std::string& address) {
  const std::string lesson = address.substr(0, address.find('/'));
  const std::int64_t* of_its_own = found_in(policy.deadlines, address);
  if (of_its_own == nullptr) of_its_own = found_in(policy.deadlines, lesson);
  const std::int64_t deadline = of_its_own != nullptr ? *of_its_own : policy.deadline;
  for (const std::string& who : {student + "/" + address, student + "/" + lesson, student}) {
    const LatePolicy::Extension* extension = found_in(policy.extensions, who);
    if (extension == nullptr) continue;
    return std::max(deadline + extension->days * day_s, extension->until.value_or(deadline));
  }
  return deadline;
}

Lateness lateness(const LatePolicy& policy, const std::string& student, const std::string& address,
                  std::int64_t handed_in) {
  const std::int64_t over_s = handed_in - due(policy, student, address);
  if (over_s <= std::int64_t{60} * policy.grace_minutes) return {};
  // Ten years late is late enough for any arithmetic.
  const int days = static_cast<int>(std::min<std::int64_t>((over_s + day_s - 1) / day_s, 3660));
  if (policy.days_max && days > *policy.days_max) return {days, 100};
  return {days, std::min(days * policy.loss_per_day, policy.cap)};
}

}  // namespace lockstep::grader
