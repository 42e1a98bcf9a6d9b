#include "grader/further/with_work.hpp"

#include <algorithm>
#include <iostream>
#include <map>

#include "engine/base/text.hpp"
#include "engine/base/units.hpp"
#include "grader/course/text/text_file.hpp"
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

// Those of "--pp and --schedule 1f1b" that the run lacks.
std::string lacking(std::string_view settings, const Arguments& run) {
  constexpr std::string_view joint = " and ";
  const std::size_t at = settings.find(joint);
  const std::string first(settings.substr(0, at));
  const std::string rest =
      at == std::string_view::npos ? "" : lacking(settings.substr(at + joint.size()), run);
  if (run.has(first)) return rest;
  return rest.empty() ? first : text(first, joint, rest);
}

// Which of these settings the run has; nullptr without any.
const std::string* any_of(const std::vector<std::string>& settings, const Arguments& run) {
  const auto found =
      std::ranges::find_if(settings, [&](const auto& one) { return has_all(one, run); });
  return found == settings.end() ? nullptr : &*found;
}

// Which of these options was typed, even with its default value, or is added: the trainer asks the
// same when it says what does not combine.
const std::string* any_typed(const std::vector<std::string>& options, const Arguments& run,
                             const std::set<std::string>& added) {
  const auto found = std::ranges::find_if(
      options, [&](const auto& one) { return run.given(one.substr(2)) || added.contains(one); });
  return found == options.end() ? nullptr : &*found;
}

// Sorts the parts of a program: the student's own, unused ones, and those of the reference.
class Sorting {
 public:
  //   always, run   as in linked_with_work
  Sorting(const Lab& lab, const StudentProgram& program, const Words& always, const Arguments* run)
      : lab_(lab), always_(always), run_(run), called_(called_by_parts(lab.course, always)) {
    for (const Exercise& part : lab.course.exercises) {
      if (part.kind == Kind::code && program.has(part)) parts_.push_back(&part);
    }
    for (const Exercise* part : parts_) {
      const std::string option = run == nullptr ? "" : added_option(part->called_by, *run);
      if (!option.empty() && why_unwritten(lab, *part).empty() && why_not_yours(*part).empty()) {
        added_.insert(option);
      }
    }
    for (const Exercise* part : parts_) sort(*part);
  }

  const std::set<std::string>& added() const { return added_; }
  const std::vector<Replacement>& yours() const { return yours_; }
  const PartsTold& told() const { return told_; }

 private:
  // A part that this run does not call is neither judged nor compiled.
  void sort(const Exercise& part) {
    const bool named = std::ranges::count(always_, part.name) > 0;
    const std::string unwritten = why_unwritten(lab_, part);
    if (!unwritten.empty() && !named) {
      ++told_.unwritten;
      return;
    }
    if (!always_.empty() && !called_.contains(part.name)) {
      ++told_.others;
      return;
    }
    const std::string uncalled = run_ == nullptr ? "" : why_uncalled(part.called_by, *run_, added_);
    if (!uncalled.empty()) {
      told_.uncalled.push_back({part.name, uncalled});
      return;
    }
    const std::string reason = named ? unwritten : why_not_yours(part);
    if (!reason.empty()) {
      told_.replaced.push_back({part.name, reason});
      return;
    }
    told_.yours.push_back(part.name);
    yours_.push_back({&part, lab_.places.work(part)});
  }

  // Judges a part once.
  const std::string& why_not_yours(const Exercise& part) {
    const auto [at, is_new] = judged_.try_emplace(&part);
    if (is_new) at->second = why_replaced(lab_, part);
    return at->second;
  }

  const Lab& lab_;
  const Words& always_;
  const Arguments* run_;
  const std::set<std::string> called_;
  std::vector<const Exercise*> parts_;
  std::map<const Exercise*, std::string> judged_;
  std::set<std::string> added_;
  std::vector<Replacement> yours_;
  PartsTold told_;
};

}  // namespace

std::set<std::string> called_by_parts(const Course& course, const Words& parts) {
  std::set<std::string> called;
  Words waiting = parts;
  while (!waiting.empty()) {
    const std::string name = waiting.back();
    waiting.pop_back();
    if (!called.insert(name).second) continue;
    const auto part = std::ranges::find(course.exercises, name, &Exercise::name);
    if (part == course.exercises.end()) continue;
    waiting.insert(waiting.end(), part->may_use.begin(), part->may_use.end());
  }
  return called;
}

std::string why_uncalled(const CalledBy& called_by, const Arguments& run,
                         const std::set<std::string>& added) {
  if (!called_by.unused.empty()) return called_by.unused;
  if (const std::string* other = any_typed(called_by.not_with, run, added))
    return "not called with " + *other;
  if (!called_by.options.empty() && any_of(called_by.options, run) == nullptr) {
    const std::string first = lacking(called_by.options.front(), run);
    return "add " + first + (first.ends_with(':') ? "…" : "") + " to call it";
  }
  return "";
}

std::string added_option(const CalledBy& called_by, const Arguments& run) {
  const bool called = called_by.options.empty() || any_of(called_by.options, run) != nullptr;
  const bool adds = called && !called_by.adds.empty() && !run.given(called_by.adds.substr(2)) &&
                    any_typed(called_by.not_with, run, {}) == nullptr;
  return adds ? called_by.adds : "";
}

std::string text_of(const PartsTold& parts) {
  std::string yours;
  for (const std::string& name : parts.yours) yours += (yours.empty() ? "" : ", ") + name;
  std::string out = "  yours      " + (yours.empty() ? "none" : yours) + "\n";
  for (const auto& [part, why] : parts.uncalled) {
    out += text("  unused     ", part, ": ", why, "\n");
  }
  if (parts.others > 0) {
    out +=
        text("  unused     ", counted(parts.others, "part"), " of yours that it does not call\n");
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
  const Sorting sorted(lab, program, always, run);
  std::cerr << wrapped(text_of(sorted.told()), lab.columns);
  for (const std::string& option : sorted.added()) {
    std::cerr << "  added      " << option << ", so that your parts are called\n";
  }
  return {program.link(sorted.yours(), name), sorted.added()};
}

}  // namespace lockstep::grader
