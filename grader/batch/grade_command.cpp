#include "grader/batch/grade_command.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/base/error.hpp"
#include "engine/launch/guard.hpp"
#include "grader/batch/canary.hpp"
#include "grader/batch/class_run.hpp"
#include "grader/batch/class_summary.hpp"
#include "grader/batch/digest.hpp"
#include "grader/batch/grade_files.hpp"
#include "grader/batch/grades.hpp"
#include "grader/batch/progress_line.hpp"
#include "grader/batch/secret.hpp"
#include "grader/batch/settings.hpp"
#include "grader/batch/unit_report.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/impostors.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"
#include "grader/sandbox/probe.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Options grade_options() {
  Options options("./lab grade",
                  "Grades a class in the sandbox: one row for every student and exercise.");
  options.words("SUBMISSIONS", "a folder with a folder, zip or tar for each student")
      .option("out", "", "the folder for grades, reports and the journal (required)")
      .option("exercises", "", "names or lessons, separated by commas (default: all)")
      .option("seed-file", "", "your own secret seed, mode 600 (default: a new one)")
      .option("jobs", "", "files judged at the same time (default: one per processor)")
      .option("roster", "", "CSV file with a line for each student")
      .option("student-column", "", "the roster's column with their names (default: student, …)")
      .option("student-from", "",
              "how names of hand-ins begin: canvas, canvas-id, moodle, moodle-id, gradescope, "
              "github, or a regular expression with one group")
      .option("limits", "", "idle=3,case=60,cpu=10,memory=512,submission=300,student=120 (s, MiB)")
      .option("format", "json,csv", "json, csv, or both")
      .flag("resume", "continue an interrupted run")
      .flag("json", "also print grades.json");
  return options;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::vector<const Exercise*> chosen(const Course& course, const std::string& list) {
  std::vector<const Exercise*> exercises;
  for (const Exercise& exercise : course.exercises) exercises.push_back(&exercise);
  if (list.empty()) return exercises;
  std::vector<const Exercise*> named;
  for (const std::string& name : parts_of(list)) {
    for (const Exercise* exercise : exercises_named(course, name)) named.push_back(exercise);
  }
  std::erase_if(exercises, [&](const Exercise* exercise) {  // in the order of the course
    return std::find(named.begin(), named.end(), exercise) == named.end();
  });
  return exercises;
}

struct Plan {
  std::vector<const Exercise*> exercises;
  Roster roster;
  std::string naming;  // student_name.hpp
  TakenIn taken;
  std::string secret;
  json settings;
  ClassLimits limits;
};

const json* last_of(const Journal& journal, const char* kind) {
  const json* last = nullptr;
  for (const json& record : journal.records()) {
    if (record.at("record") == kind) last = &record;
  }
  return last;
}

enum class Begun : unsigned char { refused, resumed };  // when there are grades already

// Nothing of an earlier run is gone on with unless that is asked for.
void look_at_earlier(const Journal& journal, const fs::path& out, Begun begun) {
  if (begun == Begun::resumed || last_of(journal, "settings") == nullptr) return;
  throw UsageError(text("there are grades in ", out.string(),
                        " already: continue with --resume, or choose another --out"));
}

void append_if_new(Journal& journal, const json& record) {
  const json* known = last_of(journal, record.at("record").get_ref<const std::string&>().c_str());
  if (known == nullptr || *known != record) journal.append(record);
}

void begin(Journal& journal, const Plan& plan, const fs::path& out) {
  if (const json* before = last_of(journal, "settings"); before == nullptr) {
    journal.append(plan.settings);
  } else if (*before != plan.settings) {
    std::string differs;
    for (const auto& [key, value] : plan.settings.items()) {
      if (before->value(key, json()) != value) differs += (differs.empty() ? "" : ", ") + key;
    }
    throw UsageError(text("the grades in ", out.string(), " come from a run with another ", differs,
                          ": they cannot be mixed; choose another --out"));
  }
  json roster = json_of(plan.roster);
  roster["record"] = "roster";
  roster["student_from"] = plan.naming;
  append_if_new(journal, roster);
  append_if_new(journal, plan_record(plan.exercises, plan.taken.submissions, plan.roster.columns));
}

Told told_on_stderr() {
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

// What the command line and the files it names say by themselves, before anything is made.
Plan asked_for(const Arguments& arguments, Lab& lab) {
  Plan plan;
  plan.exercises = chosen(lab.course, arguments.get("exercises"));
  plan.limits.jobs = arguments.given("jobs")
                         ? static_cast<int>(arguments.integer("jobs", 1))
                         : static_cast<int>(std::thread::hardware_concurrency());
  set_limits(arguments.get("limits"), lab.limits, plan.limits);
  plan.naming = arguments.get("student-from");
  if (arguments.given("roster")) {
    plan.roster = read_roster(read_text(arguments.get("roster")), arguments.get("student-column"));
  } else if (arguments.given("student-column")) {
    throw UsageError("--student-column names a column of the --roster, which is not given");
  }
  if (arguments.given("seed-file")) plan.secret = read_secret(arguments.get("seed-file"));
  return plan;
}

// The rest. The list of the class and how hand-ins are named are the journal's unless given anew.
void complete(Plan& plan, const Arguments& arguments, Lab& lab, const Journal& journal,
              const fs::path& out) {
  if (const json* known = last_of(journal, "roster"); known != nullptr) {
    if (!arguments.given("roster")) plan.roster = roster_from(*known);
    if (!arguments.given("student-from")) plan.naming = known->at("student_from");
  }
  plan.taken = take_in(arguments.words().front(), plan.exercises, plan.roster, plan.naming);
  std::vector<const Exercise*> judged = plan.exercises;
  judged.push_back(&canary_exercise(lab.course));
  make_ready(lab, judged);
  make_impostors_ready(lab, judged);
  if (plan.secret.empty()) plan.secret = kept_secret(out / "seed");
  plan.settings = {{"record", "settings"},
                   {"seed_sha256", sha256(plan.secret)},
                   {"limits", limits_record(lab.limits, plan.limits)},
                   {"lab", lab_digest(lab, plan.exercises)}};
}

std::size_t not_judged(const json& grades) {
  std::size_t rows = 0;
  for (const json& student : grades.at("students")) {
    for (const json& row : student.at("rows")) rows += row.at("verdict") == "infrastructure";
  }
  return rows;
}

// What is said of a student whose files used up the budget.
std::string beyond_budget_in(const json& student, const ClassLimits& limits) {
  std::size_t rows = 0;
  for (const json& row : student.at("rows")) rows += row.at("cause") == "student_budget";
  if (rows == 0) return "";
  return text("         ", student.at("student").get<std::string>(), ": ", rows,
              " files were not judged, since those before them used up ", limits.student_s,
              " s (--limits student=", limits.student_s, ")\n");
}

// Says why the lab failed at a file, so that the reason need not be looked up in a report.
void complain_of(const json& record) {
  std::cerr << "\rlab failure at " << record.at("exercise").get<std::string>() << ": "
            << fit_to_print(record.at("report").value("message", ""), 400) << "\n";
}

std::string summary_of(const Plan& plan, const fs::path& out, const Proven& proven,
                       const json& grades, std::size_t judged) {
  const std::size_t lost = not_judged(grades);
  std::string summary = text(
      "sandbox  ", name_of(proven.sandbox->profile()), ", ", proven.layers.size(),
      " layers tested\n", "seed     SHA-256 ", plan.settings.at("seed_sha256").get<std::string>(),
      "\n", "class    ", plan.taken.submissions.size(), " students, ", plan.exercises.size(),
      " exercises; ", judged, " different files judged now\n", "grades   ", out.string(), "\n");
  summary += class_summary(plan.taken, plan.roster);
  for (const json& student : grades.at("students")) {
    summary += beyond_budget_in(student, plan.limits);
  }
  if (lost > 0) {
    summary += text("the lab itself failed at ", lost,
                    " rows (infrastructure): ./lab grade … --resume repeats them\n");
  }
  return summary;
}

// What needs no more than a look at the command line, before anything is made.
void look_at(const Arguments& arguments, const std::vector<std::string>& formats) {
  if (arguments.words().size() != 1) {
    throw UsageError("./lab grade needs one folder of submissions: ./lab grade DIR --out DIR");
  }
  const fs::path folder = arguments.words().front();
  if (!fs::is_directory(folder)) {
    throw UsageError(text("there is no folder ", folder.string(),
                          ": it should hold a folder or an archive for each student"));
  }
  for (const std::string& format : formats) {
    if (format != "json" && format != "csv") {
      throw UsageError("--format " + format + ": there are json and csv");
    }
  }
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
  const std::vector<std::string> formats = parts_of(arguments.get("format"));
  look_at(arguments, formats);
  Plan plan = asked_for(arguments, lab);
  const fs::path out = output_folder(arguments.get("out"));
  Journal journal(out / "journal.jsonl");  // locked: no other grader writes there
  look_at_earlier(journal, out, arguments.flag("resume") ? Begun::resumed : Begun::refused);
  complete(plan, arguments, lab, journal, out);
  begin(journal, plan, out);
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
  send_impostors(lab, plan.exercises, plan.limits.jobs, plan.secret);
  send_canaries(lab, *proven.sandbox, area.path(), plan.limits.jobs, plan.secret);
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
  write_grades(out, journal.records(), grades, formats);
  fs::remove(note);
  if (arguments.flag("json")) {
    std::cout << grades.dump(1) << "\n";
  } else {
    std::cout << wrapped(summary_of(plan, out, proven, grades, judged), lab.columns);
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
