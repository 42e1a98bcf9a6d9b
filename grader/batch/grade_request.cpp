#include "grader/batch/grade_request.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <thread>

#include "engine/base/destination.hpp"
#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "grader/batch/hand_ins/readable_name.hpp"
#include "grader/batch/hand_ins/spreadsheet.hpp"
#include "grader/batch/processes/secret.hpp"
#include "grader/batch/run/settings.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

constexpr std::array known_formats{"json",    "csv",          "html", "gradescope",
                                   "autolab", "prairielearn", "junit"};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::vector<const Exercise*> chosen(const Course& course, const std::string& list) {
  std::vector<const Exercise*> named;
  for (const std::string& name : parts_of(list)) {
    for (const Exercise* exercise : exercises_named(course, name)) named.push_back(exercise);
  }
  std::vector<const Exercise*> exercises;  // in the order of the course
  for (const Exercise& exercise : course.exercises) {
    if (std::find(named.begin(), named.end(), &exercise) != named.end()) {
      exercises.push_back(&exercise);
    }
  }
  return exercises;
}

void refuse_unknown_formats(const std::vector<std::string>& formats) {
  const std::vector<std::string> known(known_formats.begin(), known_formats.end());
  for (const std::string& format : formats) {
    if (std::find(known.begin(), known.end(), format) != known.end()) continue;
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    throw UsageError("--format " + format + ": there are " + all + did_you_mean(format, known));
  }
}

fs::path folder_of_submissions(const Arguments& arguments) {
  if (arguments.words().size() != 1) {
    throw UsageError("./lab grade needs one folder of submissions: ./lab grade DIR --out DIR");
  }
  const fs::path folder = arguments.words().front();
  if (!fs::is_directory(folder)) {
    throw UsageError(text("there is no folder ", folder.string(),
                          ": it should hold a folder or an archive for each student"));
  }
  return folder;
}

std::string content_of(const Arguments& arguments, const char* option) {
  const std::string file = arguments.get(option);
  if (!fs::is_regular_file(file)) throw UsageError(text("--", option, ": there is no file ", file));
  return read_text(file);
}

}  // namespace

Options grade_options() {
  Options options("./lab grade",
                  "Grades a class in the sandbox: one row for every student and exercise.");
  options.words("SUBMISSIONS", "a folder with a folder, zip or tar for each student")
      .option("out", "", "the folder for grades, reports and the journal (required)")
      .option("exercises", "", "names or lessons, separated by commas (default: all)")
      .option("seed-file", "", "your own secret seed, mode 600 (default: a new one)")
      .option("jobs", "", "files judged at the same time (default: one per processor)")
      .option("limits", "", "idle=3,case=60,cpu=10,memory=512,submission=300,student=120 (s, MiB)")
      .option("format", "json,csv,html",
              "any of json, csv, html, gradescope, autolab, prairielearn, junit")
      .flag("anonymous", "write pseudonyms; names.csv tells whose they are")
      .flag("show-seed", "also in the files for platforms: seeds, cases and expected values")
      .flag("json", "also print grades.json");
  options.section("students")
      .option("roster", "", "CSV file with a line for each student")
      .option("student-column", "", "the roster's column with their names (default: student, …)")
      .option("student-from", "",
              "how names of hand-ins begin: canvas, canvas-id, moodle, moodle-id, gradescope, "
              "github, or a regular expression with one group")
      .option("students", "", "judge only these, separated by commas; other rows stay");
  options.section("again, with the grades in DIR")
      .flag("resume", "continue: judge what is new or was interrupted")
      .option("regrade", "", "STUDENT[/EXERCISE],…: judge this again; '*/EXERCISE' for everybody");
  options.section("points")
      .option("overrides", "", "CSV file: student,exercise,points,comment,reason")
      .option("late", "", "TOML file: deadline, loss_per_day, cap, days_max, [extensions], …")
      .option("late-from", "", "the roster's column with the hand-in times, gradescope, or mtime");
  options.exclude({"students", "regrade"}, "both say whom to judge; pass only one");
  return options;
}

GradeRequest grade_request(const Arguments& arguments, const Course& course) {
  GradeRequest request;
  request.submissions = folder_of_submissions(arguments);
  request.out = arguments.get("out");
  if (!request.out.empty()) check_folder_destination("--out", request.out);
  request.formats = parts_of(arguments.get("format"));
  refuse_unknown_formats(request.formats);
  if (arguments.flag("anonymous")) request.names = Names::hidden;
  if (arguments.flag("show-seed")) request.cases = Cases::shown;
  request.jobs = arguments.given("jobs") ? static_cast<int>(arguments.integer("jobs", 1))
                                         : static_cast<int>(std::thread::hardware_concurrency());
  if (arguments.flag("resume") || arguments.given("regrade")) {
    request.begin = GradeRequest::Begin::resumed;
  }
  if (arguments.given("exercises")) {
    request.exercises = chosen(course, arguments.get("exercises"));
  }
  if (arguments.given("roster")) {
    request.roster = read_roster(content_of(arguments, "roster"), arguments.get("student-column"));
  } else if (arguments.given("student-column")) {
    throw UsageError("--student-column names a column of the --roster, which is not given");
  }
  if (arguments.given("student-from")) request.naming = arguments.get("student-from");
  if (arguments.given("limits")) {
    sim::PlayerLimits player;
    ClassLimits whole;
    request.limits = arguments.get("limits");
    set_limits(*request.limits, player, whole);  // refuses what is wrong in it
  }
  if (arguments.given("overrides")) {
    request.overrides =
        read_overrides(content_of(arguments, "overrides"), arguments.get("overrides"), course);
  }
  if (arguments.given("late")) request.late = read_late(arguments.get("late"), course);
  request.late_from = arguments.get("late-from");
  for (const std::string& student : names_in_list(arguments.get("students"), "--students")) {
    request.students.insert(readable_name(student));
  }
  request.regrades = read_regrades(arguments.get("regrade"), course);
  if (arguments.given("seed-file")) request.secret = read_secret(arguments.get("seed-file"));
  return request;
}

}  // namespace lockstep::grader
