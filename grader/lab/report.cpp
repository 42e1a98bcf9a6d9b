#include "grader/lab/report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/base/units.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/par_text.hpp"

namespace lockstep::grader {
namespace {

std::string painted_verdict(Verdict verdict, Paint paint) {
  const std::string name(name_of(verdict));
  if (verdict == Verdict::pass) return green(paint, name);
  if (verdict == Verdict::unsolved || verdict == Verdict::efficiency) return yellow(paint, name);
  return red(paint, name);
}

std::string mark_of(const CheckReport& check, Paint paint) {
  if (check.skipped) return faint(paint, "-");
  if (check.verdict == Verdict::pass) return green(paint, "ok");
  if (check.verdict == Verdict::unsolved) return yellow(paint, "..");
  return red(paint, "no");
}

// Whole numbers as such; others with six digits.
std::string number_text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.6g", value);
  if (value == static_cast<double>(static_cast<long long>(value))) {
    std::snprintf(out, sizeof out, "%lld", static_cast<long long>(value));
  }
  return out;
}

// "  label     words", further lines indented as the first; without label two columns in.
void field(std::string& out, const std::string& label, const std::string& words) {
  if (words.empty()) return;
  std::istringstream in(words);
  if (label.empty()) {
    for (std::string line; std::getline(in, line);) out += "  " + line + "\n";
    return;
  }
  std::string head = "  " + label + std::string(label.size() < 10 ? 10 - label.size() : 1, ' ');
  for (std::string line; std::getline(in, line);) {
    out += head + line + "\n";
    head = std::string(12, ' ');
  }
}

std::string counters_text(const std::map<std::string, double>& counters) {
  std::string out;
  for (const auto& [name, value] : counters) {
    out += (out.empty() ? "" : ", ") + name + " " + number_text(value);
  }
  return out;
}

void describe_failure(std::string& out, const Grade& grade, const CheckReport& check) {
  field(out, "where", check.where);
  if (!check.origin.empty()) field(out, "first seen", "in " + check.origin);
  if (check.verdict != Verdict::compile_error) {
    field(out, "expected", check.expected);
    field(out, "seen", check.seen);
  }
  field(out, "measured", counters_text(check.counters));
  field(out, "cause", grade.report.cause);
  field(out, "replay", check.replay);
}

// Shows the first lines of what each rank printed.
void show_output(std::string& out, const Report& report) {
  constexpr int lines_max = 20;
  for (const auto& [rank, printed] : report.output) {
    std::istringstream in(printed);
    std::string shown;
    int lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
      if (lines < lines_max) shown += line + "\n";
    }
    if (lines > lines_max) shown += "… and " + counted(lines - lines_max, "more line") + "\n";
    field(out, "rank " + std::to_string(rank), shown);
  }
}

// The check that the verdict is about.
const CheckReport* decisive_check(const Report& report) {
  const auto found =
      std::find_if(report.checks.begin(), report.checks.end(), [&](const CheckReport& check) {
        return !check.skipped && check.verdict == report.verdict && check.verdict != Verdict::pass;
      });
  return found == report.checks.end() ? nullptr : &*found;
}

// Right but wasteful in one way: the same is said of each check that finds it.
bool wastes_alike(const CheckReport& one, const CheckReport& other) {
  return one.verdict == Verdict::efficiency && other.verdict == Verdict::efficiency &&
         one.cause == other.cause && !one.skipped && !other.skipped;
}

// Every check with its mark; of those that failed beside the one that was told already, why, once.
void list_checks(std::string& out, const Grade& grade, Paint paint, Kind kind) {
  const CheckReport* told = kind == Kind::code ? decisive_check(grade.report) : nullptr;
  const auto& checks = grade.report.checks;
  for (const CheckReport& check : checks) {
    out += "  " + mark_of(check, paint) + (check.skipped ? "   " : "  ") + check.name +
           (check.skipped ? faint(paint, " (not run)") : "") + "\n";
    const bool wrong = check.verdict != Verdict::pass && check.verdict != Verdict::unsolved;
    if (!wrong || check.skipped || &check == told) continue;
    const auto first = std::ranges::find_if(
        checks, [&](const CheckReport& other) { return wastes_alike(other, check); });
    const bool again = first != checks.end() && &*first != &check;
    field(out, "    why", again ? "as above: " + check.cause : check.message);
    field(out, "    replay", check.replay);
  }
}

// "6 checks: 4 passed, 1 failed, 1 not run; 87 cases, seed 1"
std::string tally_text(const Report& report) {
  const Tally tally = tally_of(report);
  std::string out =
      counted(tally.checks, "check") + ": " + std::to_string(tally.passed) + " passed";
  if (tally.failed > 0) out += ", " + std::to_string(tally.failed) + " failed";
  if (tally.skipped > 0) out += ", " + std::to_string(tally.skipped) + " not run";
  out += "; " + counted(tally.cases, "case");
  if (report.seed) out += ", seed " + std::to_string(*report.seed);
  return out;
}

// The hint rung that fits: nothing to hint at when the lab failed.
std::string next_step(const Grade& grade, const Exercise& exercise) {
  switch (grade.report.verdict) {
    case Verdict::pass:
      return "";
    case Verdict::unsolved:
      if (exercise.kind == Kind::quiz) {
        return "./lab quiz " + exercise.lesson.substr(0, 2) + " asks the questions one by one";
      }
      return "./lab show " + exercise.handle() + " prints the task";
    case Verdict::infrastructure:
      return "./lab doctor: this is the lab's failure, not your code";
    default:
      return grade.report.cause == "missing_symbol"
                 ? "read " + exercise.header + " for the declaration"
                 : "./lab hint " + exercise.handle();
  }
}

std::string seconds_text(double seconds) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f s", seconds);
  return out;
}

// "run: 0.31 s in 2(N-1)/N of the data per rank, …" of those that took a tenth of the time or more.
std::string slowest_checks(const Report& report) {
  std::vector<const CheckReport*> slowest;
  double all = 0;
  for (const CheckReport& check : report.checks) {
    all += check.seconds;
    if (!check.skipped) slowest.push_back(&check);
  }
  std::sort(slowest.begin(), slowest.end(),
            [](const CheckReport* a, const CheckReport* b) { return a->seconds > b->seconds; });
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, slowest.size()); ++i) {
    if (slowest[i]->seconds < all / 10 || slowest[i]->seconds == 0) break;
    out += "          " + seconds_text(slowest[i]->seconds) + " in " + slowest[i]->name + "\n";
  }
  return out;
}

// "pass  10/10 points"; of one case alone there is nothing to give points for.
std::string standing_text(const Report& report, Paint paint) {
  const std::string verdict = painted_verdict(report.verdict, paint);
  if (!report.aside.empty()) return verdict + "  " + report.aside;
  return verdict + "  " + std::to_string(report.points) + "/" + std::to_string(report.max_points) +
         " points";
}

std::string case_sentence(const Report& report) {
  if (!report.only_case || report.verdict == Verdict::unsolved) return "";
  return "case " + text_of(*report.only_case) +
         (report.verdict == Verdict::pass ? " passed" : " failed") +
         "; no other case was run, and nothing is recorded";
}

}  // namespace

std::string words_of(const Grade& grade, const Lab& lab, const Exercise& exercise, Times times) {
  const Report& report = grade.report;
  const Paint paint = lab.paint;
  std::string out = bold(paint, exercise.address()) + "  " + standing_text(report, paint) + "\n";
  field(out, "", report.message);
  field(out, "", case_sentence(report));
  if (exercise.kind == Kind::code && report.verdict != Verdict::unsolved) {
    const CheckReport* failed = decisive_check(report);
    if (failed != nullptr) describe_failure(out, grade, *failed);
  }
  show_output(out, report);
  const bool begun = report.verdict != Verdict::unsolved || report.steps_held > 0;
  if (report.verdict == Verdict::compile_error) {
    out += grade.compiler;
  } else if (begun || exercise.kind == Kind::quiz) {
    list_checks(out, grade, paint, exercise.kind);
  }
  if (report.seed && begun) field(out, "", tally_text(report));
  if (begun) field(out, "steps", report.next_step);
  const bool built = report.verdict != Verdict::compile_error;
  if (built && report.verdict != Verdict::pass && !grade.compiler.empty()) {
    out += "  the compiler warned:\n" + grade.compiler;
  }
  field(out, "par", par_text(report.par, exercise));
  field(out, "next", next_step(grade, exercise));
  if (times == Times::shown) {
    field(out, "time",
          "compile " + seconds_text(grade.compile_s) + ", link " + seconds_text(grade.link_s) +
              ", run " + seconds_text(grade.run_s));
    field(out, "", slowest_checks(report));
  }
  return out;
}

nlohmann::json json_of(const Grade& grade) {
  const Report& report = grade.report;
  auto checks = nlohmann::json::array();
  for (const CheckReport& check : report.checks) {
    checks.push_back({{"name", check.name},
                      {"verdict", check.skipped ? "skipped" : std::string(name_of(check.verdict))},
                      {"cause", check.cause},
                      {"message", check.message},
                      {"expected", check.expected},
                      {"seen", check.seen},
                      {"where", check.where},
                      {"counters", check.counters},
                      {"replay", check.replay},
                      {"cases", check.cases},
                      {"seconds", check.seconds}});
  }
  const Tally tally = tally_of(report);
  auto output = nlohmann::json::object();
  for (const auto& [rank, printed] : report.output) output[std::to_string(rank)] = printed;
  return {
      {"exercise", report.exercise},
      {"verdict", std::string(name_of(report.verdict))},
      {"points", report.points},
      {"max_points", report.max_points},
      {"cause", report.cause},
      {"message", report.message},
      {"next_step", report.next_step},
      {"checks", checks},
      {"tally",
       {{"checks", tally.checks},
        {"passed", tally.passed},
        {"failed", tally.failed},
        {"skipped", tally.skipped},
        {"cases", tally.cases}}},
      {"output", output},
      {"par", par_json(report.par)},
      {"seed", report.seed ? nlohmann::json(*report.seed) : nlohmann::json()},
      {"seconds", {{"compile", grade.compile_s}, {"link", grade.link_s}, {"run", grade.run_s}}}};
}

}  // namespace lockstep::grader
