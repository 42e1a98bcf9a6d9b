#include "grader/batch/policy/hand_in_times.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/sim/wire/printable.hpp"
#include "grader/batch/hand_ins/spreadsheet.hpp"
#include "grader/batch/policy/date_time.hpp"
#include "grader/batch/processes/digest.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// As platforms call it in the tables that they export.
constexpr std::array time_columns{
    "submitted at",         "submitted_at",         "submission time", "last modified (submission)",
    "submission_timestamp", "submission timestamp", "time submitted",  "handed in"};

std::int64_t moment_of_cell(const std::string& written, const std::string& where,
                            const LatePolicy& policy) {
  const auto moment = date_time_in(written, policy.zone_minutes);
  if (moment && is_plausible(*moment)) return moment->seconds;
  throw UsageError(text(where, ": expected ", moment ? plausible_years : date_time_form,
                        ", and it says '", sim::printable(written, 60), "'"));
}

// The time of a student's whole hand-in; nothing if nobody says it.
std::optional<std::int64_t> time_of_hand_in(const std::string& source, const Submission& submission,
                                            const Roster& roster, const LatePolicy& policy) {
  if (source == time_of_gradescope) {
    if (submission.handed_in.empty()) return std::nullopt;
    return moment_of_cell(submission.handed_in,
                          "submission_metadata.yml, :created_at: of " + submission.student, policy);
  }
  const std::size_t column = column_called(roster.columns, source);
  if (column >= submission.about.size()) return std::nullopt;
  const std::string& written = submission.about[column];
  if (written.empty() || written == "-") return std::nullopt;
  const auto line = roster.lines.find(submission.student);
  const std::string where = line == roster.lines.end()
                                ? "the roster's student " + submission.student
                                : text("the roster's line ", line->second);
  return moment_of_cell(written, where + ", column " + source, policy);
}

// When the journal says that this content was handed in.
std::optional<std::int64_t> known_time(const json* before, const std::string& source,
                                       const std::string& student, const std::string& address,
                                       const std::string& digest) {
  if (before == nullptr || before->at("from") != source) return std::nullopt;
  const json known = before->at("times").value(student, json::object()).value(address, json());
  if (known.is_null() || known.at(1) != digest) return std::nullopt;
  return known.at(0).get<std::int64_t>();
}

}  // namespace

std::string time_source(const std::string& asked, const std::string& naming, const Roster& roster) {
  if (asked == time_of_files || asked == time_of_gradescope) return asked;
  if (!asked.empty()) {
    const std::size_t column = column_called(roster.columns, asked);
    if (column < roster.columns.size()) return roster.columns[column];
    throw UsageError(text("--late-from ", asked,
                          ": pass mtime, gradescope, or a column of the "
                          "roster",
                          did_you_mean(asked, roster.columns)));
  }
  if (naming == "gradescope") return time_of_gradescope;
  for (const char* name : time_columns) {
    const std::size_t column = column_called(roster.columns, name);
    if (column < roster.columns.size()) return roster.columns[column];
  }
  throw UsageError(
      "--late needs the times of the hand-ins: pass a --roster with a column such as 'submitted "
      "at', or --late-from COLUMN, or --late-from mtime for the times of the files here");
}

json hand_in_times(const std::string& source, const TakenIn& taken, const Roster& roster,
                   const LatePolicy& policy, const json* before) {
  json times = json::object();
  if (before != nullptr && before->at("from") == source) times = before->at("times");
  for (const Submission& submission : taken.submissions) {
    json files = json::object();
    std::optional<std::int64_t> whole;
    if (source != time_of_files) whole = time_of_hand_in(source, submission, roster, policy);
    for (const auto& [address, answer] : submission.answers) {
      if (answer.state != Answer::State::handed_in) continue;
      const std::string digest = sha256(answer.content);
      std::optional<std::int64_t> time = whole;
      if (source == time_of_files) time = answer.modified;
      const auto known = known_time(before, source, submission.student, address, digest);
      if (known) time = std::min(*known, time.value_or(*known));
      if (time) files[address] = json::array({*time, digest});
    }
    times[submission.student] = std::move(files);
  }
  return {{"record", "hand_in_times"}, {"from", source}, {"times", std::move(times)}};
}

std::vector<std::string> without_a_time(const json& times, const TakenIn& taken) {
  std::vector<std::string> names;
  for (const Submission& submission : taken.submissions) {
    const bool has_file =
        std::any_of(submission.answers.begin(), submission.answers.end(),
                    [](const auto& one) { return one.second.state == Answer::State::handed_in; });
    const json files = times.at("times").value(submission.student, json::object());
    if (has_file && submission.cause.empty() && files.empty()) names.push_back(submission.student);
  }
  return names;
}

}  // namespace lockstep::grader
