#include "grader/batch/grade_command.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/units.hpp"
#include "engine/launch/guard.hpp"
#include "grader/batch/grade_files.hpp"
#include "grader/batch/grade_request.hpp"
#include "grader/batch/policy/hand_in_times.hpp"
#include "grader/batch/processes/digest.hpp"
#include "grader/batch/processes/progress_line.hpp"
#include "grader/batch/processes/secret.hpp"
#include "grader/batch/reports/class_summary.hpp"
#include "grader/batch/reports/grades.hpp"
#include "grader/batch/run/canary.hpp"
#include "grader/batch/run/class_run.hpp"
#include "grader/batch/run/settings.hpp"
#include "grader/batch/run/unit_report.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/dev/impostors.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"
#include "grader/sandbox/probe.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A run, as the command line and the journal say it together.
struct Plan {
  std::vector<const Exercise*> exercises;
  Roster roster;
  std::string naming;  // student_name.hpp
  TakenIn taken;
  std::string secret;
  ClassLimits limits;
  json settings, versions, record;  // the last is the plan's
};

const json* last_of(const Journal& journal, const char* kind) {
  const json* last = nullptr;
  for (const json& record : journal.records()) {
    if (record.at("record") == kind) last = &record;
  }
  return last;
}

// Nothing of an earlier run is gone on with unless that is asked for.
void look_at_earlier(const Journal& journal, const fs::path& out, const GradeRequest& request) {
  const bool earlier = last_of(journal, "settings") != nullptr;
  if (earlier && request.begin == GradeRequest::Begin::afresh) {
    throw UsageError(text("there are grades in ", out.string(),
                          " already: continue with --resume, or choose another --out"));
  }
  if (!earlier && !request.regrades.empty()) {
    throw UsageError(text("--regrade: there are no grades in ", out.string(), " yet"));
  }
}

void append_if_new(Journal& journal, const json& record) {
  const json* known = last_of(journal, record.at("record").get_ref<const std::string&>().c_str());
  const bool always = record.at("record") == "regrade";  // a second wish, also for the same files
  if (always || known == nullptr || *known != record) journal.append(record);
}

// Results of other settings are never mixed with these.
void compare_settings(const json& before, const Plan& plan, const fs::path& out) {
  std::string differs;
  for (const auto& [key, value] : plan.settings.items()) {
    if (before.value(key, json()) != value) differs += (differs.empty() ? "" : ", ") + key;
  }
  if (differs.empty()) return;
  throw UsageError(text("the grades in ", out.string(), " come from a run with another ", differs,
                        ": they cannot be mixed; choose another --out"));
}

// An exercise that has changed since it was graded is judged again for everybody, or not at all.
void compare_versions(const json& before, const Plan& plan, const GradeRequest& request) {
  std::vector<std::string> changed;
  const json& known = before.at("exercises");
  for (const auto& [address, version] : plan.versions.at("exercises").items()) {
    if (known.contains(address) && known.at(address) != version) changed.push_back(address);
  }
  const std::vector<std::string> mixed = mixed_exercises(request.regrades, changed);
  if (mixed.empty()) return;
  std::string names, ask;
  for (const std::string& address : mixed) {
    names += (names.empty() ? "" : ", ") + address;
    ask += (ask.empty() ? "*/" : ",*/") + address;
  }
  if (mixed.size() == known.size()) ask = "*";
  throw UsageError(text(
      mixed.size() > 5 ? text(mixed.size(), " exercises") : names,
      mixed.size() == 1 ? " has changed since it was" : " have changed since they were",
      " graded: pass --regrade '", ask, "' to judge everybody's again, or choose another --out"));
}

// Settings, versions, the class's list and what was handed in.
void begin(Journal& journal, const Plan& plan, const GradeRequest& request, const fs::path& out) {
  if (const json* before = last_of(journal, "settings"); before == nullptr) {
    journal.append(plan.settings);
  } else {
    compare_settings(*before, plan, out);
  }
  json versions = plan.versions;
  if (const json* before = last_of(journal, "versions"); before != nullptr) {
    compare_versions(*before, plan, request);
    for (const auto& [address, version] : before->at("exercises").items()) {
      if (!versions.at("exercises").contains(address)) versions["exercises"][address] = version;
    }
  }
  append_if_new(journal, versions);
  json roster = json_of(plan.roster);
  roster["record"] = "roster";
  roster["student_from"] = plan.naming;
  append_if_new(journal, roster);
  append_if_new(journal, plan.record);
}

// The wishes of a person besides the judge's results: lateness, overrides, a second judgement.
struct Wishes {
  std::vector<json> records;
  std::vector<std::string> timeless;  // students of whom no hand-in time is known
};

Wishes wishes_of(const Journal& journal, const Plan& plan, const GradeRequest& request) {
  Wishes wishes;
  const json* known = last_of(journal, "late");
  if (known == nullptr && !request.late && !request.late_from.empty()) {
    throw UsageError("--late-from belongs to --late FILE, which is not given");
  }
  if (known != nullptr || request.late) {
    const LatePolicy policy = request.late ? *request.late : late_from(*known);
    std::string asked = request.late_from;
    if (asked.empty() && known != nullptr) asked = known->at("from");
    const std::string source = time_source(asked, plan.naming, plan.roster);
    json record = json_of(policy);
    record["record"] = "late";
    record["from"] = source;
    const json times =
        hand_in_times(source, plan.taken, plan.roster, policy, last_of(journal, "hand_in_times"));
    wishes.timeless = without_a_time(times, plan.taken);
    wishes.records = {std::move(record), times};
  }
  if (request.overrides) {
    json record = json_of(*request.overrides);
    record["record"] = "overrides";
    wishes.records.push_back(std::move(record));
  }
  if (!request.regrades.empty()) {
    wishes.records.push_back(regrade_record(request.regrades, plan.record));
  }
  return wishes;
}

ProgressReport told_on_stderr() {
  const auto begun = std::chrono::steady_clock::now();
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto progress =
      std::make_shared<ProgressLine>(terminal ? Watcher::terminal : Watcher::file);
  return [=](std::size_t done, std::size_t of, const json& record) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    const auto line = progress->after(
        done, of, seconds.count(),
        record.at("exercise").get<std::string>() + "  " + record.at("verdict").get<std::string>());
    if (line) std::cerr << *line << std::flush;
  };
}

// The folder for players of a run that was killed; `note` says where it is.
void remove_left_over(const fs::path& note) {
  if (!fs::exists(note)) return;
  const fs::path old = read_text(note);
  struct stat about;
  const bool ours = old.string().starts_with(PrivateFolder::prefix()) &&
                    ::lstat(old.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                    about.st_uid == ::geteuid();
  std::error_code ignored;
  if (ours) fs::remove_all(old, ignored);
  fs::remove(note);
}

std::vector<const Exercise*> exercises_of(const Course& course, const json& plan) {
  std::vector<const Exercise*> exercises;
  for (const json& one : plan.at("exercises")) {
    exercises.push_back(&exercise_named(course, one.at("exercise").get<std::string>()));
  }
  return exercises;
}

// Only some students are taken in: all the others stay as they were.
json plan_of_all(const Plan& plan, const GradeRequest& request, const json* before) {
  json record = plan_record(plan.exercises, plan.taken.submissions, plan.roster.columns);
  if (request.students.empty() || before == nullptr) return record;
  if (record.at("exercises") != before->at("exercises")) {
    throw UsageError(
        "--students takes the exercises of the grades that there are: leave out "
        "--exercises, or grade everybody");
  }
  return with_others(std::move(record), *before, request.students, plan.roster);
}

void refuse_unknown_students(const GradeRequest& request, const json& plan) {
  std::set<std::string> students;
  for (const json& student : plan.at("students")) students.insert(student.at("student"));
  if (request.overrides) refuse_strangers(*request.overrides, students);
  if (!request.late) return;
  const std::vector<std::string> known(students.begin(), students.end());
  for (const auto& [who, extension] : request.late->extensions) {
    const std::string student = who.substr(0, slash_before_exercise(who));
    if (students.contains(student)) continue;
    throw UsageError(text("--late: [extensions] names a student ", student, ", who is not there",
                          did_you_mean(student, known)));
  }
}

std::string secret_of(const GradeRequest& request, const Journal& journal, const fs::path& out) {
  if (!request.secret.empty()) return request.secret;
  if (last_of(journal, "settings") != nullptr && !fs::exists(out / "seed")) {
    throw UsageError("these grades were begun with a --seed-file: pass it again");
  }
  return kept_secret(out / "seed");
}

// Completes the request from the journal, or with defaults.
Plan complete(const GradeRequest& request, Lab& lab, const Journal& journal, const fs::path& out) {
  Plan plan;
  plan.limits.jobs = request.jobs;
  const json* const settings = last_of(journal, "settings");
  if (!request.limits && settings != nullptr) {
    set_limits_from(settings->at("limits"), lab.limits, plan.limits);
  }
  set_limits(request.limits.value_or(""), lab.limits, plan.limits);
  const json* const list = last_of(journal, "roster");
  if (list != nullptr) plan.roster = roster_from(*list);
  if (request.roster) plan.roster = *request.roster;
  plan.naming = request.naming.value_or(list != nullptr ? list->at("student_from") : "");
  const json* const before = last_of(journal, "plan");
  for (const Exercise& exercise : lab.course.exercises) plan.exercises.push_back(&exercise);
  if (before != nullptr) plan.exercises = exercises_of(lab.course, *before);
  if (request.exercises) plan.exercises = *request.exercises;
  plan.taken =
      take_in(request.submissions, plan.exercises, plan.roster, plan.naming, {}, request.students);
  plan.record = plan_of_all(plan, request, before);
  refuse_unknown_students(request, plan.record);
  std::vector<const Exercise*> judged = plan.exercises;
  judged.push_back(&canary_exercise(lab.course));
  make_ready(lab, judged);
  make_impostors_ready(lab, judged);
  plan.secret = secret_of(request, journal, out);
  plan.settings = {{"record", "settings"},
                   {"format", 3},
                   {"seed_sha256", sha256(plan.secret)},
                   {"limits", limits_record(lab.limits, plan.limits)}};
  plan.versions = {{"record", "versions"}, {"exercises", lab_versions(lab, plan.exercises)}};
  return plan;
}

std::size_t not_judged(const json& grades) {
  std::size_t rows = 0;
  for (const json& student : grades.at("students")) {
    for (const json& row : student.at("rows"))
      rows += row.at("verdict") == "infrastructure" && row.at("by_hand") == false;
  }
  return rows;
}

// The sentence about a student whose files used up the budget.
std::string beyond_budget_in(const json& student, const ClassLimits& limits) {
  std::size_t rows = 0;
  for (const json& row : student.at("rows")) rows += row.at("cause") == "student_budget";
  if (rows == 0) return "";
  return text("         ", student.at("student").get<std::string>(), ": ", counted(rows, "file"),
              rows == 1 ? " was" : " were", " not judged, since those before used up ",
              limits.student_s, " s (--limits student=", limits.student_s, ")\n");
}

// Says why the lab failed at a file, so that the reason need not be looked up in a report.
void complain_of(const json& record) {
  std::cerr << "\rlab failure at " << record.at("exercise").get<std::string>() << ": "
            << fit_to_print(record.at("report").value("message", ""), 400) << "\n";
}

std::string summary_of(const Plan& plan, const fs::path& out, const Proven& proven,
                       const json& grades, std::size_t judged) {
  const std::size_t lost = not_judged(grades);
  std::string summary =
      text("sandbox  ", name_of(proven.sandbox->profile()), ", ",
           counted(std::ssize(proven.layers), "layer"), " tested\n", "seed     SHA-256 ",
           plan.settings.at("seed_sha256").get<std::string>(), "\n", "class    ",
           counted(std::ssize(plan.taken.submissions), "student"), ", ",
           counted(std::ssize(plan.exercises), "exercise"), "; ",
           judged == 1 ? "1 file" : text(judged, " different files"), " judged now\n", "grades   ",
           out.string(), "\n");
  summary += class_summary(plan.taken, plan.roster);
  for (const json& student : grades.at("students")) {
    summary += beyond_budget_in(student, plan.limits);
  }
  if (lost > 0) {
    summary +=
        text("the lab itself failed at ", counted(lost, "row"),
             " (infrastructure): ./lab grade … --resume repeats ", lost == 1 ? "it" : "them", "\n");
  }
  return summary;
}

// Nothing that is started for a class outlives it, even if this process is killed. The sandbox dies
// with its parent, but for a moment at its start it does not yet.
class Leftovers {
 public:
  Leftovers() { guard_.mark_children(); }
  ~Leftovers() { launch::kill_marked(guard_.mark()); }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  const launch::Guard& guard() const { return guard_; }

 private:
  launch::Guard guard_;
};

Exit grade_class(Lab lab, const Arguments& arguments) {
  const GradeRequest request = grade_request(arguments, lab.course);
  const fs::path out = output_folder(request.out);
  Journal journal(out / "journal.jsonl");  // locked: no other grader writes there
  look_at_earlier(journal, out, request);
  const Plan plan = complete(request, lab, journal, out);
  const json before = grades_of(journal.records());
  const Wishes wishes = wishes_of(journal, plan, request);
  begin(journal, plan, request, out);
  for (const json& record : wishes.records) append_if_new(journal, record);
  const auto units =
      units_left(plan.exercises, plan.taken.submissions, journal.records(), plan.secret);
  const fs::path note = out / "scratch";
  remove_left_over(note);
  const Leftovers leftovers;
  const PrivateFolder area;
  leftovers.guard().remove_after_us(area.path());
  write_whole(note, area.path().string());
  const Recipe recipe = read_recipe(lab.places.recipe(canary_exercise(lab.course)));
  const Proven proven = proven_sandbox(lab.places, area.path(), lab.limits, recipe.compiler,
                                       leftovers.guard().entry());
  try_judges(lab, *proven.sandbox, area.path(), units, plan.limits.jobs, plan.secret);
  if (::isatty(STDERR_FILENO) != 1)
    std::cerr << counted(std::ssize(units), "file") << " to judge\n";
  std::size_t judged = 0;
  judge_units(
      lab, *proven.sandbox, area.path(), units, plan.limits,
      [&](const json& record) {
        journal.append(record);
        ++judged;
        if (record.at("verdict") == "infrastructure") complain_of(record);
      },
      told_on_stderr(),
      Budgets(plan.limits.student_s, *last_of(journal, "plan"), journal.records()), out);

  const json grades = grades_of(journal.records());
  write_grades({out, request.formats, request.names, request.cases}, journal.records(), grades,
               lab.course);
  fs::remove(note);
  if (arguments.flag("json")) {
    std::cout << grades.dump(1) << "\n";
  } else {
    std::cout << wrapped(summary_of(plan, out, proven, grades, judged) +
                             changes_between(before, grades) + timeless_hand_ins(wishes.timeless),
                         lab.columns);
  }
  return not_judged(grades) == 0 ? Exit::passed : Exit::lab_failed;
}

}  // namespace

Exit grade_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(grade_options(), words);
  if (arguments.asks_help()) return print_help(grade_options());
  ::prctl(PR_SET_DUMPABLE, 0);  // no other process of this user looks into the judge's memory
  Lab plain = lab;
  plain.paint = Paint::plain;
  try {
    return grade_class(std::move(plain), arguments);
  } catch (const NoSandbox& none) {
    std::cerr << "lab: " << none.what() << "\n";
    return Exit::machine;
  }
}

}  // namespace lockstep::grader
