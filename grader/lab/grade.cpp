#include "grader/lab/grade.hpp"

#include <unistd.h>

#include <chrono>

#include "engine/base/error.hpp"
#include "grader/course/compile/sanitizer_text.hpp"
#include "grader/course/compile/thrown_line.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/judge/causes.hpp"
#include "grader/judge/judge_call.hpp"
#include "grader/lab/quiz_grade.hpp"

namespace lockstep::grader {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Report not_built(const Exercise& exercise, const StudentBuild& build) {
  CheckReport check;
  check.name = "the file compiles and defines the part";
  check.verdict = Verdict::compile_error;
  check.message = build.message;
  check.seen = build.compiler;
  Report report;
  report.verdict = check.verdict;
  report.max_points = exercise.points;
  report.cause = build.cause;
  report.message = build.message;
  report.checks.push_back(std::move(check));
  return report;
}

// The part itself only knows its name; the file to open is known here.
std::string unsolved_message(const Lab& lab, const Exercise& exercise,
                             const std::filesystem::path& source) {
  const std::string shown = lab.places.shown(source);
  if (shown == lab.places.shown(lab.places.work(exercise))) {
    return exercise.name + " is not written yet: open " + shown + " and fill in the marked region";
  }
  return exercise.name + " is not written in " + shown;
}

void say_where_it_is_unsolved(const Lab& lab, const Exercise& exercise,
                              const std::filesystem::path& source, Report& report) {
  if (report.verdict != Verdict::unsolved) return;
  report.message = report.steps_held > 0
                       ? text(report.next_step, "; the steps before it pass. Continue in ",
                              lab.places.shown(source))
                       : unsolved_message(lab, exercise, source);
  for (CheckReport& check : report.checks) {
    if (check.verdict == Verdict::unsolved) check.message = report.message;
  }
}

// "…; thrown from work/x.cpp:14; likely cause: …". A write to what belongs to another is noticed
// only when its owner looks at it again, so that line is not the one that wrote.
std::string with_place(const std::string& message, const std::string& place) {
  const bool later = message.find(" was written to after ") != std::string::npos;
  const std::string told = text(later ? "; noticed at " : "; thrown from ", place);
  const std::size_t cause = lead_in(message);
  return message.substr(0, cause) + told + message.substr(cause);
}

// Adds to each failure by an exception the line of the student's file that led to it.
void name_lines(const std::string& shown, const std::filesystem::path& player,
                const BuildTool& tool, Report& report) {
  for (CheckReport& check : report.checks) {
    const auto place = line_of_throw(player, shown, check.thrown_at, tool);
    if (!place || check.message.find(*place) != std::string::npos) continue;
    const std::string message = with_place(check.message, *place);
    if (report.message == check.message) report.message = message;
    check.message = message;
    check.where += ", " + *place;
  }
}

// Reads what a sanitizer printed, which is what the crash was.
void read_sanitizers(const std::string& shown, Report& report) {
  report.aside = "with sanitizers: no points";
  report.points = 0;
  for (auto& [rank, output] : report.output) {
    const auto finding = sanitizer_finding(output, shown);
    if (!finding) continue;
    const std::string message = text("rank ", rank, ": ", finding->message);
    for (CheckReport& check : report.checks) {
      if (check.skipped || check.message != report.message) continue;
      check.message = message;
      check.cause = "sanitizer";
      if (!finding->place.empty()) check.where += ", " + finding->place;
    }
    report.message = message;
    report.cause = "sanitizer";
    output = finding->output;
  }
}

// The program of the known mistakes. The students' edition has its object, and links it once; it
// gets its name when it is whole, since another check may do the same.
std::filesystem::path mistakes_of(const Places& places, const Exercise& exercise) {
  const std::filesystem::path program = places.mistakes(exercise);
  const std::filesystem::path object = program.string() + ".o";
  if (std::filesystem::exists(program) || !std::filesystem::exists(object)) return program;
  const Recipe recipe = recipe_for(read_recipe(places.recipe(exercise)), PlayerKind::usual);
  const std::string unfinished = text(program.string(), ".", ::getpid());
  const StudentBuild build = link_player(places, recipe, places.shown(object), object, unfinished);
  if (!build.cause.empty()) throw Error(build.message + "\n" + build.compiler);
  std::filesystem::rename(unfinished, program);
  return program;
}

// Grants what such players need: all of the address space, and more time.
void loosen(JudgeOptions& options, PlayerKind kind) {
  if (kind == PlayerKind::usual) return;
  options.limits.memory_bytes = 0;
  if (kind == PlayerKind::shared || kind == PlayerKind::debugged) return;
  options.limits.idle_s *= 4;
  options.limits.cpu_s *= 4;
  if (kind == PlayerKind::sanitized) return;
  options.limits.files = 1024;  // a communicator for each pair of ranks that talk
  options.limits.case_s *= 2;
}

}  // namespace

Grade grade_build(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                  const StudentBuild& build, JudgeOptions options, const BuildTool& tool) {
  Grade grade;
  options.max_points = exercise.points;
  grade.compile_s = build.compile_s;
  grade.link_s = build.link_s;
  grade.compiler = build.compiler;
  if (build.cause.empty()) {
    const auto start = std::chrono::steady_clock::now();
    if (exercise.mistakes && options.world == PlayerWorld::judges) {
      options.mistakes = mistakes_of(lab.places, exercise).string();
    }
    grade.report =
        call_judge(lab.places.judge(exercise), {exercise.name, build.player.string(), options});
    grade.run_s = seconds_since(start);
    if (tool) name_lines(lab.places.shown(source), build.player, tool, grade.report);
    say_where_it_is_unsolved(lab, exercise, source, grade.report);
  } else {
    grade.report = not_built(exercise, build);
  }
  grade.report.exercise = exercise.handle();
  return grade;
}

Grade grade_file(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                 JudgeOptions options, PlayerKind kind) {
  if (exercise.kind == Kind::code) {
    const StudentBuild build = build_student(lab.places, exercise, source, lab.paint, kind);
    loosen(options, kind);
    Grade grade = grade_build(lab, exercise, source, build, std::move(options), openly(lab.places));
    const bool sanitized = kind == PlayerKind::sanitized && build.cause.empty();
    if (sanitized) read_sanitizers(lab.places.shown(source), grade.report);
    return grade;
  }
  Grade grade;
  const auto start = std::chrono::steady_clock::now();
  grade.report = grade_quiz(lab, exercise, source, options.seed);
  grade.run_s = seconds_since(start);
  grade.report.exercise = exercise.handle();
  return grade;
}

bool is_untouched(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source) {
  const bool judged = !lab.builds && !lab.packed;  // what judges is there
  return !judged && exercise.kind == Kind::code &&
         read_text(source) == read_text(lab.places.stub(exercise));
}

Grade grade_untouched(const Lab& lab, const Exercise& exercise, const std::filesystem::path& source,
                      std::uint64_t seed) {
  CheckReport check;
  check.name = "the part is written";
  check.verdict = Verdict::unsolved;
  check.cause = "stub";
  check.message = unsolved_message(lab, exercise, source);
  Grade grade;
  grade.report.exercise = exercise.handle();
  grade.report.verdict = check.verdict;
  grade.report.cause = check.cause;
  grade.report.message = check.message;
  grade.report.max_points = exercise.points;
  grade.report.seed = seed;
  grade.report.checks.push_back(std::move(check));
  return grade;
}

void note_standing(const Lab& lab, const Exercise& exercise, const Report& report) {
  Judged judged;
  judged.content_hash = content_hash_of(lab.places.work(exercise));
  judged.stub_hash = content_hash(pristine(lab.places, exercise));
  judged.verdict = name_of(report.verdict);
  judged.points = report.points;
  judged.judged_at = seconds_now();
  judged.cause = report.cause;
  judged.message = report.verdict == Verdict::pass ? "" : report.message;
  change_progress(lab.places.progress(),
                  [&](Progress& progress) { progress[exercise.address()].judged(judged); });
}

void note_tried(const Lab& lab, const Exercise& exercise, const Report& report) {
  const Verdict verdict = report.verdict;
  if (verdict == Verdict::pass || verdict == Verdict::unsolved ||
      verdict == Verdict::infrastructure) {
    return;
  }
  Judged judged;
  judged.verdict = name_of(verdict);
  judged.judged_at = seconds_now();
  judged.cause = report.cause;
  judged.message = report.message;
  change_progress(lab.places.progress(), [&](Progress& progress) {
    progress[exercise.address()].tried_elsewhere(judged);
  });
}

}  // namespace lockstep::grader
