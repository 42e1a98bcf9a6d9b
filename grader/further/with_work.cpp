#include "grader/further/with_work.hpp"

#include <algorithm>
#include <iostream>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "grader/course/text_file.hpp"
#include "grader/further/student_program.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

// "" when the student has written the part, otherwise why its reference is used.
std::string why_unwritten(const Lab& lab, const Exercise& part) {
  const fs::path file = lab.places.work(part);
  if (!fs::exists(file)) return "no file in work/";
  return read_text(file) == read_text(lab.places.stub(part)) ? "not written yet" : "";
}

// "" when the student's part passes, otherwise why its reference is used.
std::string why_replaced(const Lab& lab, const Exercise& part) {
  const fs::path file = lab.places.work(part);
  if (state_of(lab, part, read_progress(lab.places.progress())) == State::solved) return "";
  make_ready(lab, {&part});
  JudgeOptions options;
  options.limits = lab.limits;
  const Report report = grade_file(lab, part, file, options).report;
  note_standing(lab, part, report);
  if (report.verdict == Verdict::pass) return "";
  return text("your file is judged '", name_of(report.verdict), "'");
}

// True if the run has "--all-reduce ring", or both of "--pp and --schedule 1f1b".
bool has_all(std::string_view settings, const Arguments& run) {
  constexpr std::string_view joint = " and ";
  const std::size_t at = settings.find(joint);
  if (!run.has(std::string(settings.substr(0, at)))) return false;
  return at == std::string_view::npos || has_all(settings.substr(at + joint.size()), run);
}

// Which of these settings the run has; nullptr without any.
const std::string* any_of(const std::vector<std::string>& settings, const Arguments& run) {
  const auto found =
      std::ranges::find_if(settings, [&](const auto& one) { return has_all(one, run); });
  return found == settings.end() ? nullptr : &*found;
}

// Which of these options was typed, even with its default value: the trainer asks the same when it
// says what does not combine.
const std::string* any_typed(const std::vector<std::string>& options, const Arguments& run) {
  const auto found =
      std::ranges::find_if(options, [&](const auto& one) { return run.given(one.substr(2)); });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

std::string why_uncalled(const CalledBy& called_by, const Arguments& run) {
  if (!called_by.unused.empty()) return called_by.unused;
  if (const std::string* other = any_typed(called_by.not_with, run))
    return "not called with " + *other;
  if (!called_by.options.empty() && any_of(called_by.options, run) == nullptr) {
    const std::string& first = called_by.options.front();
    return "add " + first + (first.ends_with(':') ? "…" : "") + " to call it";
  }
  return "";
}

std::string added_option(const CalledBy& called_by, const Arguments& run) {
  const bool adds = !called_by.adds.empty() && !run.given(called_by.adds.substr(2)) &&
                    any_typed(called_by.not_with, run) == nullptr;
  return adds ? called_by.adds : "";
}

std::string text_of(const PartsTold& parts) {
  std::string yours;
  for (const std::string& name : parts.yours) yours += (yours.empty() ? "" : ", ") + name;
  std::string out = "  yours      " + (yours.empty() ? "none" : yours) + "\n";
  for (const auto& [part, why] : parts.uncalled) {
    out += text("  unused     ", part, ": ", why, "\n");
  }
  for (const auto& [part, why] : parts.replaced) {
    out += text("  reference  ", part, ": ", why, "\n");
  }
  if (parts.unwritten > 0) {
    out += text("  reference  ", counted(parts.unwritten, "part"), " that you have not written\n");
  }
  return out;
}

WithWork linked_with_work(const Lab& lab, const std::string& name, const Words& always,
                          const Arguments* run) {
  const StudentProgram program(lab, name);
  WithWork linked;
  PartsTold told;
  std::vector<Replacement> yours;
  for (const Exercise& part : lab.course.exercises) {
    if (part.kind != Kind::code || !program.has(part)) continue;
    const bool named = std::ranges::count(always, part.name) > 0;
    const std::string unwritten = why_unwritten(lab, part);
    if (!unwritten.empty() && !named) {
      ++told.unwritten;
      continue;
    }
    const std::string reason = named ? unwritten : why_replaced(lab, part);
    if (!reason.empty()) {
      told.replaced.push_back({part.name, reason});
      continue;
    }
    yours.push_back({&part, lab.places.work(part)});
    const std::string uncalled = run == nullptr ? "" : why_uncalled(part.called_by, *run);
    if (uncalled.empty()) {
      told.yours.push_back(part.name);
    } else {
      told.uncalled.push_back({part.name, uncalled});
    }
    const std::string option = run == nullptr ? "" : added_option(part.called_by, *run);
    if (!option.empty()) linked.added.insert(option);
  }
  std::cerr << wrapped(text_of(told), lab.columns);
  for (const std::string& option : linked.added) {
    std::cerr << "  added      " << option << ", so that your parts are called\n";
  }
  linked.program = program.link(yours, name);
  return linked;
}

}  // namespace lockstep::grader
