// lab-tool with-work: the engine's trainer, or another of its programs, with those of the student's
// parts that pass. Standard output is for ./lab train --with work: the program's path, and in more
// lines the options that the trainer needs so that these parts are called. What is whose goes to
// standard error.
#include "grader/lab/with_work.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <set>

#include "engine/base/error.hpp"
#include "grader/course/text_file.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/student_program.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// "" when the student has written the part, otherwise why its reference is used.
std::string reason_without_judging(const Lab& lab, const Exercise& part) {
  const fs::path file = lab.places.work(part);
  if (!fs::exists(file)) return "no file in work/";
  return read_text(file) == read_text(lab.places.stub(part)) ? "not written yet" : "";
}

// "" when the student's part passes, otherwise why its reference is used.
std::string reason_for_reference(const Lab& lab, const Exercise& part) {
  const std::string unwritten = reason_without_judging(lab, part);
  if (!unwritten.empty()) return unwritten;
  const fs::path file = lab.places.work(part);
  if (state_of(lab, part, read_progress(lab.places.progress())) == State::solved) return "";
  make_ready(lab, {&part});
  JudgeOptions options;
  options.limits = lab.limits;
  const Report report = grade_file(lab, part, file, options).report;
  note_standing(lab, part, report);
  return report.verdict == sim::Verdict::pass ? "" : std::string(name_of(report.verdict));
}

// The value of an option in the run's words: "--workers 2", "--workers=2"; "" of a flag. Nothing
// where it is not given, or given as what it is without: 0, no or none.
std::optional<std::string> value_in(const Words& run, const std::string& option) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (run[i] == option) {
      const bool has_value = i + 1 < run.size() && !run[i + 1].starts_with("--");
      value = has_value ? run[i + 1] : "";
    } else if (run[i].starts_with(option + "=")) {
      value = run[i].substr(option.size() + 1);
    }
  }
  const bool off = value && (*value == "0" || *value == "no" || *value == "none");
  return off ? std::nullopt : value;
}

// Whether the run has "--all-reduce ring", or "--workers" with any value.
bool has(const Words& run, const std::string& wanted) {
  const std::size_t space = wanted.find(' ');
  const auto value = value_in(run, wanted.substr(0, space));
  return value && (space == std::string::npos || *value == wanted.substr(space + 1));
}

// Which of `options` the run has; nullptr without any.
const std::string* any_of(const std::vector<std::string>& options, const Words& run) {
  const auto found = std::ranges::find_if(options, [&](const auto& one) { return has(run, one); });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

std::string words_for_yours(const CalledBy& called_by, const Words& run) {
  if (!called_by.unused.empty()) return "yours, unused: " + called_by.unused;
  if (const std::string* other = any_of(called_by.not_with, run)) {
    return "yours, unused with " + *other;
  }
  if (!called_by.options.empty() && any_of(called_by.options, run) == nullptr) {
    return "yours, unused without " + called_by.options.front();
  }
  return "yours";
}

std::string added_option(const CalledBy& called_by, const Words& run) {
  const bool adds = any_of(called_by.not_with, run) == nullptr && !has(run, called_by.adds);
  return adds ? called_by.adds : "";
}

Exit with_work_command(const Lab& lab, const Words& words) {
  Options options("lab-tool with-work", "Links a program with those of your parts that pass.");
  options.option("program", "train", "which")
      .list("always", "a part of yours to link even if it does not pass")
      .rest("ARGUMENTS", "arguments of the run, if the program is the trainer");
  const Arguments arguments = parsed(options, words);
  if (arguments.asks_help()) return print_help(options);
  const std::string& name = arguments.get("program");
  const Words& run = arguments.rest();
  const StudentProgram program(lab, name);
  std::vector<Replacement> yours;
  std::set<std::string> added;
  for (const Exercise& part : lab.course.exercises) {
    if (part.kind != Kind::code || !program.has(part)) continue;
    const bool always = std::ranges::count(arguments.list("always"), part.name) > 0;
    const std::string reason =
        always ? reason_without_judging(lab, part) : reason_for_reference(lab, part);
    const CalledBy called_by = name == "train" ? part.called_by : CalledBy{};
    std::cerr << "  " << part.name << ": "
              << (reason.empty() ? words_for_yours(called_by, run)
                                 : "the reference (" + reason + ")")
              << "\n";
    if (!reason.empty()) continue;
    yours.push_back({&part, lab.places.work(part)});
    if (const auto option = added_option(called_by, run); !option.empty()) added.insert(option);
  }
  std::cout << program.link(yours, name).string() << "\n";
  for (const std::string& option : added) std::cout << option << "\n";
  return Exit::passed;
}

}  // namespace lockstep::grader
