// ./lab hint: one step closer to the code at a time, beginning with what went wrong last.
#include "grader/lab/hint.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "engine/base/error.hpp"
#include "grader/judge/verdict.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

Options hint_options() {
  Options options(
      "./lab hint",
      "Shows the next hint: first about the last failure, then the concept, the strategy and the "
      "pseudo-code.");
  options
      .words("[NAME]",
             "the exercise (default: the one you edited last; once it has passed, the next)")
      .option("rung", "", "show this hint: 1 the concept, 2 the strategy, 3 the pseudo-code")
      .flag("all", "show all hints");
  return options;
}

// The failure goes by its cause, or else by its verdict; the task's own hint, or else the common
// one.
const CauseHint* hint_for_failure(const Task& task, const Task& common, const Judged& last) {
  if (last.verdict == "pass") return nullptr;
  for (const std::string& name : {last.cause, cause_named(last.verdict)}) {
    for (const Task* hints : {&task, &common}) {
      if (const CauseHint* hint = hints->hint_for(name)) return hint;
    }
  }
  return nullptr;
}

// Its causes are names for the lab; a person reads "Hint: the last elements".
std::string readable(const CauseHint& hint) {
  const std::size_t title = hint.text.find(':');
  return title < hint.text.find('\n') ? "## Hint" + hint.text.substr(title) : hint.text;
}

std::string because(const Judged& last) {
  return "Because the last check said: " + last.message + "\n\n";
}

// The check that a hint is about: that of another file, if it was the last one.
const Judged* last_check(const Standing& standing) {
  if (standing.tried) return &*standing.tried;
  return standing.last ? &*standing.last : nullptr;
}

// A failure is known by the file and by what the check said, so that a new one has its hint, too.
std::string rung_of(const CauseHint& hint, const Judged& last) {
  return text("for ", hint.causes.front(), " ", content_hash(last.message) ^ last.content_hash);
}

void note_shown(const Lab& lab, const Exercise& exercise, const std::string& rung) {
  change_progress(lab.places.progress(), [&](Progress& progress) {
    progress[exercise.address()].hints.emplace(rung, seconds_now());
  });
}

// A hint ends with an empty line where another follows it in the file.
std::string without_empty_end(std::string hint) {
  while (hint.ends_with("\n\n")) hint.pop_back();
  return hint;
}

// The last of several hints.
bool is_pseudo_code(const Task& task, std::size_t rung) {
  return rung > 1 && rung == task.hints.size();
}

std::string with_next_command(const Exercise& exercise, const Task& task, std::size_t rung) {
  const std::string hint = without_empty_end(task.hints[rung - 1]);
  if (rung >= task.hints.size()) return hint;
  const bool pseudo_code_next = is_pseudo_code(task, rung + 1);
  return text(hint,
              pseudo_code_next ? "\nStill stuck after your next check? ./lab hint "
                               : "\nStill stuck? ./lab hint ",
              exercise.handle(), "\n");
}

// Whoever asks again at once has not tried the hint before it.
bool comes_too_early(const Task& task, const Standing& standing, std::size_t rung) {
  if (!is_pseudo_code(task, rung)) return false;
  const auto before = standing.hints.find(text(rung - 1));
  if (before == standing.hints.end()) return false;
  return !standing.last || standing.last->judged_at < before->second;
}

std::string try_first(const Exercise& exercise, std::size_t rung) {
  return text(
      "The next hint is the pseudo-code, which leaves little to find. Try the hint before "
      "it first: after your next check, ./lab hint ",
      exercise.handle(), " shows the pseudo-code.\nTo see it now: ./lab hint ", exercise.handle(),
      " --rung ", rung, "\n");
}

// Names the header that the task's tables have for what the compiler did not know; or "".
std::string header_of_unknown(const Task& task, const std::string& message) {
  const std::size_t said = message.find("declared"), from = message.rfind("‘", said);
  if (said == std::string::npos || from == std::string::npos) return {};
  const std::string name = "`" + message.substr(from + 3, message.find("’", from) - from - 3);
  std::istringstream lines(task.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(name), header = line.find("engine/", at);
    if (header == std::string::npos || std::isalnum(line[at + name.size()]) != 0) continue;
    return text("\nThe task names its header: #include \"",
                line.substr(header, line.find("`", header) - header), "\"\n");
  }
  return {};
}

// Gives the two hints about C++ of an error, one after the other. The task's own hints wait.
ShownHint hint_of_compiler(const Task& task, const Task& common, const Exercise& exercise,
                           const Standing& standing, const Judged& last) {
  ShownHint shown;
  for (const std::string& name : {last.cause, cause_named(last.verdict)}) {
    const CauseHint* hint = common.hint_for(name);
    if (hint == nullptr) continue;
    shown = {rung_of(*hint, last), text(because(last), without_empty_end(readable(*hint)))};
    if (!standing.hints.contains(shown.rung)) break;
  }
  shown.words += text(header_of_unknown(task, last.message), "\nAbout the task: ./lab hint ",
                      exercise.handle(), " --rung 1\n");
  return shown;
}

}  // namespace

ShownHint next_hint(const Task& task, const Task& common, const Exercise& exercise,
                    const Standing& standing) {
  const Judged* last = last_check(standing);
  if (last != nullptr && last->verdict == name_of(Verdict::compile_error)) {
    return hint_of_compiler(task, common, exercise, standing, *last);
  }
  const CauseHint* by_failure = last == nullptr ? nullptr : hint_for_failure(task, common, *last);
  if (by_failure != nullptr) {
    const std::string rung = rung_of(*by_failure, *last);
    if (!standing.hints.contains(rung)) {
      return {rung, text(because(*last), without_empty_end(readable(*by_failure)),
                         "\nFor the next hint: ./lab hint ", exercise.handle(), "\n")};
    }
  }
  for (std::size_t rung = 1; rung <= task.hints.size(); ++rung) {
    if (standing.hints.contains(text(rung))) continue;
    if (comes_too_early(task, standing, rung)) return {"", try_first(exercise, rung)};
    return {text(rung), with_next_command(exercise, task, rung)};
  }
  if (task.hints.empty()) return {"", text(exercise.handle(), " has no hints\n")};
  return {"", text(without_empty_end(task.hints.back()), "\nThat was the last hint; ./lab hint ",
                   exercise.handle(), " --all shows all hints again\n")};
}

std::string take_hint(const Lab& lab, const Exercise& exercise) {
  const Task task = read_task(lab.places.task(exercise));
  Progress progress = read_progress(lab.places.progress());
  const auto& file = lab.places.common_hints();
  const Task common = std::filesystem::exists(file) ? read_task(file) : Task{};
  const ShownHint hint = next_hint(task, common, exercise, progress[exercise.address()]);
  if (!hint.rung.empty()) note_shown(lab, exercise, hint.rung);
  return hint.words;
}

Exit hint_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(hint_options(), words);
  if (arguments.asks_help()) return print_help(hint_options());
  const Exercise& exercise = named_or_at_hand(lab, arguments);
  const Task task = read_task(lab.places.task(exercise));
  if (arguments.words().empty()) std::cout << exercise.address() << "\n\n";
  std::string shown;
  if (arguments.flag("all")) {
    for (const CauseHint& hint : task.for_causes) shown += readable(hint);
    for (const std::string& hint : task.hints) shown += hint;
    note_shown(lab, exercise, "all");
  } else if (arguments.given("rung")) {
    const auto rung = static_cast<std::size_t>(arguments.integer("rung", 1));
    if (rung > task.hints.size()) {
      throw UsageError(text(exercise.handle(), " has ", task.hints.size(), " hints, not ", rung));
    }
    shown = with_next_command(exercise, task, rung);
    note_shown(lab, exercise, text(rung));
  } else {
    shown = take_hint(lab, exercise);
  }
  std::cout << reflowed(shown, lab.columns);
  return Exit::passed;
}

}  // namespace lockstep::grader
