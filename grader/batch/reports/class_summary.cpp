#include "grader/batch/reports/class_summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

constexpr std::size_t names_max = 12;   // of one kind of trouble
constexpr std::size_t reasons_max = 3;  // told in full; the tables have all
constexpr const char* summary_indent = "         ";

struct Trouble {
  std::string name, reason;
};

// "amy (why), bob (why), cid, dee and 196 more".
std::string listed(const std::vector<Trouble>& all) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), names_max); ++i) {
    out += (i == 0 ? "" : ", ") + all[i].name;
    if (i < reasons_max && !all[i].reason.empty()) out += " (" + all[i].reason + ")";
  }
  if (all.size() > names_max) out += text(" and ", all.size() - names_max, " more");
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<Trouble> all;
  for (const std::string& name : names) all.push_back({name, ""});
  return listed(all);
}

// "2 files are refused, too_large"
std::string refused(std::int64_t count, std::string_view what, const std::string& cause) {
  return text(counted(count, what), count == 1 ? " is" : " are", " refused, ", cause);
}

// One trouble's students, all for the same reason: the reason is told once.
std::string line(const std::string& what, std::vector<Trouble> all) {
  const auto same = [&](const Trouble& one) { return one.reason == all.front().reason; };
  std::string once;
  if (all.size() > 1 && !all.front().reason.empty() && std::all_of(all.begin(), all.end(), same)) {
    once = " (" + all.front().reason + ")";
    for (Trouble& one : all) one.reason.clear();
  }
  return summary_indent + what + once + ": " + listed(all) + "\n";
}

Trouble stranger(const std::string& student, const LookAlikes& alike) {
  const auto listed = alike.perhaps.find(student);
  const bool similar = listed != alike.perhaps.end();
  return {student, similar ? "did you mean " + listed->second + ", who handed in nothing?" : ""};
}

using ByCause = std::map<std::string, std::vector<Trouble>>;

std::string lines_of_hand_ins(ByCause whole) {
  std::string out;
  const auto told = [&](const char* cause, const char* what) {
    const auto at = whole.find(cause);
    if (at == whole.end()) return;
    for (Trouble& one : at->second) {
      if (std::string(cause) == "missing") one.reason.clear();
    }
    out += line(counted(std::ssize(at->second), "student") + what, at->second);
    whole.erase(at);
  };
  told("missing", " handed in nothing");
  told("empty", " handed in an empty folder or archive");
  told("nothing_found", " handed in nothing that counts");
  for (const auto& [cause, all] : whole) {
    out += line(refused(std::ssize(all), "hand-in", cause), all);
  }
  return out;
}

}  // namespace

std::string class_summary(const TakenIn& taken, const Roster& roster) {
  ByCause whole, single;
  std::vector<Trouble> strangers, taken_for;
  for (const Submission& submission : taken.submissions) {
    if (!submission.on_roster) strangers.push_back(stranger(submission.student, taken.alike));
    if (!submission.cause.empty()) {
      whole[submission.cause].push_back({submission.student, submission.reason});
      continue;
    }
    for (const auto& [address, answer] : submission.answers) {
      if (answer.state != Answer::State::refused) continue;
      single[answer.cause].push_back({submission.student, answer.reason});
    }
  }
  const bool names_differ = whole.contains("missing") && !strangers.empty();
  std::string out = lines_of_hand_ins(std::move(whole));
  for (const auto& [cause, all] : single) {
    out += line(refused(std::ssize(all), "file", cause), all);
  }
  // Those for whom there is something to decide come first.
  std::stable_partition(strangers.begin(), strangers.end(),
                        [](const Trouble& one) { return !one.reason.empty(); });
  for (const auto& [theirs, listed] : taken.alike.taken_for) {
    taken_for.push_back({theirs, "is " + listed});
  }
  const auto names = [&](const char* what, const auto& all) {
    if (!all.empty()) out += summary_indent + (what + (": " + listed(all))) + "\n";
  };
  names(names_differ ? "not on the roster (do --student-from and --student-column name the same?)"
                     : "not on the roster",
        strangers);
  names("taken for students of the roster, which writes their names otherwise", taken_for);
  names("ignored, because the name begins with a dot", taken.hidden);
  names("not matched by --student-from, so named after the file", taken.unmatched);
  names("not counted, because another hand-in of the student is", taken.superseded);
  for (std::size_t i = 0; i < std::min(roster.notes.size(), names_max); ++i) {
    out += summary_indent + roster.notes[i] + "\n";
  }
  return out;
}

std::string changes_between(const json& before, const json& now) {
  std::map<std::pair<std::string, std::string>, json> known;
  for (const json& student : before.at("students")) {
    for (const json& row : student.at("rows")) {
      known[{student.at("student"), row.at("exercise")}] = row;
    }
  }
  std::string out;
  std::size_t changed = 0;
  for (const json& student : now.at("students")) {
    for (const json& row : student.at("rows")) {
      const auto at = known.find({student.at("student"), row.at("exercise")});
      if (at == known.end() || at->second.at("points") == row.at("points")) continue;
      if (++changed > names_max) continue;
      out += text(summary_indent, student.at("student").get<std::string>(), ", ",
                  row.at("exercise").get<std::string>(), ": ", at->second.at("points").get<int>(),
                  " → ", row.at("points").get<int>(), " (", row.at("verdict").get<std::string>(),
                  ")\n");
    }
  }
  if (changed > names_max) out += text(summary_indent, "and ", changed - names_max, " more\n");
  if (changed == 0) return "";
  return text("changed  ", counted(static_cast<std::int64_t>(changed), "row"), "\n", out);
}

std::string timeless_hand_ins(const std::vector<std::string>& students) {
  if (students.empty()) return "";
  return text("late     no hand-in time is known of ", listed(students),
              ": they count as in time\n");
}

}  // namespace lockstep::grader
