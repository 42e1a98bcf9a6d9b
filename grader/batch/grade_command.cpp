#include "grader/batch/grade_command.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "engine/base/error.hpp"
#include "grader/batch/canary.hpp"
#include "grader/batch/class_run.hpp"
#include "grader/batch/digest.hpp"
#include "grader/batch/grades.hpp"
#include "grader/batch/secret.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/impostors.hpp"
#include "grader/lab/ready.hpp"
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
      .option("roster", "", "CSV file with the names of all students in its first column")
      .option("limits", "", "such as idle=3,case=60,cpu=10,memory=512,submission=300 (s, MiB)")
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

double positive(const std::string& name, const std::string& value) {
  std::size_t read = 0;
  double number = 0;
  try {
    number = std::stod(value, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != value.size() || !(number > 0)) {
    throw UsageError("--limits " + name + "=" + value + ": pass a number above 0");
  }
  return number;
}

void set_limits(const std::string& list, sim::PlayerLimits& player, ClassLimits& whole) {
  for (const std::string& part : parts_of(list)) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const double value = positive(name, equals == std::string::npos ? "" : part.substr(equals + 1));
    if (name == "idle") {
      player.idle_s = value;
    } else if (name == "case") {
      player.case_s = value;
    } else if (name == "cpu") {
      player.cpu_s = value;
    } else if (name == "memory") {
      player.memory_bytes = static_cast<std::int64_t>(value) << 20;
    } else if (name == "submission") {
      whole.submission_s = value;
    } else {
      throw UsageError("--limits " + name +
                       ": the limits are idle, case, cpu, submission (seconds) and memory (MiB)");
    }
  }
}

// Everything besides submissions and seed that the verdicts depend on.
std::string lab_digest(const Lab& lab, const std::vector<const Exercise*>& exercises) {
  std::string all = sha256(read_text("/proc/self/exe"));
  std::map<fs::path, std::string> seen;
  for (const Exercise* exercise : exercises) {
    if (exercise->kind == Kind::quiz) {
      all += sha256(read_text(lab.places.quiz_key(*exercise)));
      continue;
    }
    all += sha256(read_text(lab.places.recipe(*exercise)));
    seen.try_emplace(lab.places.judge(*exercise), "");
    const Recipe recipe = recipe_for(read_recipe(lab.places.recipe(*exercise)), PlayerKind::usual);
    for (const auto* files : {&recipe.objects, &recipe.libraries}) {
      for (const fs::path& file : *files) seen.try_emplace(file, "");
    }
  }
  for (auto& [file, digest] : seen) all += sha256(read_text(file));
  return sha256(all);
}

struct Plan {
  fs::path out;
  std::vector<const Exercise*> exercises;
  std::vector<Submission> submissions;
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

void begin(Journal& journal, const Plan& plan, Begun begun) {
  if (const json* before = last_of(journal, "settings"); before == nullptr) {
    journal.append(plan.settings);
  } else if (begun == Begun::refused) {
    throw UsageError(text("there are grades in ", plan.out.string(),
                          " already: continue with --resume, or choose another --out"));
  } else if (*before != plan.settings) {
    std::string differs;
    for (const auto& [key, value] : plan.settings.items()) {
      if (before->value(key, json()) != value) differs += (differs.empty() ? "" : ", ") + key;
    }
    throw UsageError(text("the grades in ", plan.out.string(), " come from a run with another ",
                          differs, ": they cannot be mixed; choose another --out"));
  }
  const json record = plan_record(plan.exercises, plan.submissions);
  const json* known = last_of(journal, "plan");
  if (known == nullptr || *known != record) journal.append(record);
}

class Progress {
 public:
  explicit Progress(Paint paint) : shown_(paint == Paint::colour || ::isatty(STDERR_FILENO) == 1) {}
  void operator()(std::size_t done, std::size_t of, const json& record) const {
    if (!shown_) return;
    std::cerr << "\r\033[K" << done << " of " << of << "  "
              << record.at("exercise").get<std::string>() << "  "
              << record.at("verdict").get<std::string>() << (done == of ? "\r\033[K" : "")
              << std::flush;
  }

 private:
  bool shown_;
};

// A student's name may be longer than a file's may be.
std::string report_name(const std::string& student) {
  constexpr std::size_t length_max = 200, kept = 150;
  if (student.size() <= length_max) return student + ".json";
  return student.substr(0, kept) + "~" + sha256(student).substr(0, 16) + ".json";
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

void write_grades(const Plan& plan, const std::vector<json>& records, const json& grades,
                  const std::vector<std::string>& formats) {
  const auto wanted = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  fs::create_directories(plan.out / "students");
  for (const json& student : grades.at("students")) {
    write_whole(plan.out / "students" / report_name(student.at("student")),
                student_report(student, records).dump(1) + "\n");
  }
  if (wanted("json")) write_whole(plan.out / "grades.json", grades.dump(1) + "\n");
  if (wanted("csv")) {
    write_whole(plan.out / "grades.csv", grades_csv(grades));
    write_whole(plan.out / "totals.csv", totals_csv(grades));
  }
}

fs::path output_folder(const std::string& name) {
  if (name.empty()) throw UsageError("./lab grade needs --out DIR for the grades");
  const fs::path out = fs::absolute(name).lexically_normal();
  if (fs::create_directories(out)) fs::permissions(out, fs::perms::owner_all);
  return out;
}

Plan plan_of(const Arguments& arguments, Lab& lab) {
  if (arguments.words().size() != 1) {
    throw UsageError("./lab grade needs one folder of submissions: ./lab grade DIR --out DIR");
  }
  Plan plan;
  plan.exercises = chosen(lab.course, arguments.get("exercises"));
  std::vector<const Exercise*> judged = plan.exercises;
  judged.push_back(&canary_exercise(lab.course));
  make_ready(lab, judged);
  make_impostors_ready(lab, judged);
  plan.limits.jobs = arguments.given("jobs")
                         ? static_cast<int>(arguments.integer("jobs", 1))
                         : static_cast<int>(std::thread::hardware_concurrency());
  set_limits(arguments.get("limits"), lab.limits, plan.limits);
  std::vector<std::string> roster;
  if (arguments.given("roster")) roster = read_roster(arguments.get("roster"));
  plan.submissions = take_in(arguments.words().front(), plan.exercises, roster);
  plan.out = output_folder(arguments.get("out"));
  plan.secret = arguments.given("seed-file") ? read_secret(arguments.get("seed-file"))
                                             : kept_secret(plan.out / "seed");
  plan.settings = {{"record", "settings"},
                   {"seed_sha256", sha256(plan.secret)},
                   {"limits", arguments.get("limits")},
                   {"lab", lab_digest(lab, plan.exercises)}};
  return plan;
}

std::size_t not_judged(const json& grades) {
  std::size_t rows = 0;
  for (const json& student : grades.at("students")) {
    for (const json& row : student.at("rows")) rows += row.at("verdict") == "infrastructure";
  }
  return rows;
}

// Where the time went: no part of the grades, which are the same in every run.
json times_of(const std::vector<json>& records) {
  json times = json::array();
  for (const json& record : records) {
    if (record.at("record") != "result") continue;
    times.push_back({{"exercise", record.at("exercise")},
                     {"sha256", record.at("sha256")},
                     {"seconds", record.at("seconds")}});
  }
  return times;
}

std::string summary_of(const Plan& plan, const Proven& proven, const json& grades,
                       std::size_t judged) {
  const std::size_t lost = not_judged(grades);
  std::string out =
      text("sandbox  ", name_of(proven.sandbox->profile()), ", ", proven.layers.size(),
           " layers tested\n", "seed     SHA-256 ",
           plan.settings.at("seed_sha256").get<std::string>(), "\n", "class    ",
           plan.submissions.size(), " students, ", plan.exercises.size(), " exercises; ", judged,
           " different files judged now\n", "grades   ", plan.out.string(), "\n");
  for (const Submission& submission : plan.submissions) {
    if (!submission.cause.empty())
      out += "         " + submission.student + ": " + submission.reason + "\n";
    if (!submission.on_roster) out += "         " + submission.student + ": not on the roster\n";
  }
  if (lost > 0) {
    out += text("the lab itself failed at ", lost,
                " rows (infrastructure): ./lab grade … --resume repeats them\n");
  }
  return out;
}

Exit grade_class(Lab lab, const Arguments& arguments) {
  const std::vector<std::string> formats = parts_of(arguments.get("format"));
  for (const std::string& format : formats) {
    if (format != "json" && format != "csv") {
      throw UsageError("--format " + format + ": there are json and csv");
    }
  }
  const Plan plan = plan_of(arguments, lab);
  Journal journal(plan.out / "journal.jsonl");
  begin(journal, plan, arguments.flag("resume") ? Begun::resumed : Begun::refused);
  const auto units = units_left(plan.exercises, plan.submissions, journal.records(), plan.secret);

  const fs::path note = plan.out / "scratch";
  remove_left_over(note);
  const PrivateFolder area;
  write_whole(note, area.path().string());
  const Recipe recipe = read_recipe(lab.places.recipe(canary_exercise(lab.course)));
  const Proven proven = proven_sandbox(lab.places, area.path(), lab.limits, recipe.compiler);
  send_impostors(lab, plan.exercises, plan.limits.jobs, plan.secret);
  send_canaries(lab, *proven.sandbox, area.path(), plan.limits.jobs, plan.secret);
  judge_units(
      lab, *proven.sandbox, area.path(), units, plan.limits,
      [&](const json& record) { journal.append(record); }, Progress(lab.paint));

  const json grades = grades_of(journal.records());
  write_grades(plan, journal.records(), grades, formats);
  write_whole(plan.out / "times.json", times_of(journal.records()).dump(1) + "\n");
  fs::remove(note);
  if (arguments.flag("json")) {
    std::cout << grades.dump(1) << "\n";
  } else {
    std::cout << summary_of(plan, proven, grades, units.size());
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
