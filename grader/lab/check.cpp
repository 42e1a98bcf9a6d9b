// ./lab check: builds, judges, says what came of it, and notes the standing of files in work/.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/json_text.hpp"
#include "grader/course/text/text_file.hpp"
#include "grader/lab/after_pass.hpp"
#include "grader/lab/ahead.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/editors.hpp"
#include "grader/lab/grade.hpp"
#include "grader/lab/lab.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/report.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;

Options check_options() {
  Options options("./lab check", "Judges your version of one or more exercises.");
  options
      .words(
          "[NAME…|NN]",
          "exercises or lessons (default: the one you edited last; once it has passed, the next)")
      .flag("all", "every exercise")
      .option("from", "work", "judge the files in this folder (solutions, or any other)")
      .option("seed", "1", "the seed for generating the cases")
      .option("case", "", "run only this case")
      .choice("world", {"judge", "gloo", "nccl"}, "judge",
              "where the ranks run; gloo and nccl only compare results and give no points")
      .flag("paper",
            "--world nccl: without GPUs; executes their kernels and NCCL, slowly, and checks them")
      .only_with({"paper"}, "--world nccl")
      .flag("sanitize", "check every memory access and all arithmetic; no points")
      .flag("output", "show what the ranks printed, even after a pass")
      .flag("json", "print one JSON document instead of text")
      .flag("time", "show where the time went");
  return options;
}

fs::path folder_named(const Lab& lab, const std::string& from) {
  const fs::path folder = from;
  return (folder.is_relative() ? lab.places.root / folder : folder).lexically_normal();
}

// A path says which exercise is meant; that it also names the file that is judged must be true.
void refuse_other_folder(const Lab& lab, const std::string& word, const std::string& from) {
  const fs::path path = fs::path(word).lexically_normal();
  const bool names_folder = std::distance(path.begin(), path.end()) > 2 && *path.begin() != "..";
  if (!names_folder || !path.has_extension()) return;
  const fs::path folder = (path.is_relative() ? lab.places.root / path : path).parent_path();
  if (folder.parent_path() == folder_named(lab, from)) return;
  throw UsageError(text(word, " is outside ", from, "/, the folder being judged; use --from ",
                        lab.places.shown(folder.parent_path())));
}

std::vector<const Exercise*> chosen(const Lab& lab, const Arguments& arguments) {
  std::vector<const Exercise*> exercises;
  if (arguments.flag("all")) {
    for (const Exercise& exercise : lab.course.exercises) exercises.push_back(&exercise);
  }
  for (const std::string& word : arguments.words()) {
    refuse_other_folder(lab, word, arguments.get("from"));
    for (const Exercise* exercise : exercises_named(lab.course, word)) {
      if (std::find(exercises.begin(), exercises.end(), exercise) == exercises.end()) {
        exercises.push_back(exercise);
      }
    }
  }
  if (exercises.empty()) {
    const Exercise* next = exercise_at_hand(lab, read_progress(lab.places.progress()));
    if (next == nullptr)
      throw UsageError("every exercise is solved; ./lab check --all judges them again");
    exercises.push_back(next);
  }
  return exercises;
}

fs::path file_of(const Lab& lab, const Exercise& exercise, const std::string& from) {
  const fs::path file = folder_named(lab, from) / exercise.file();
  if (fs::is_regular_file(file)) return file;
  if (from == "exercises" && exercise.kind == Kind::quiz) {
    const fs::path made = lab.places.build / "exercises" / exercise.file();
    write_text(made, pristine(lab.places, exercise));
    return made;
  }
  if (lab.packed && from == "solutions") {
    throw UsageError("this is the students' edition: it has no references to judge");
  }
  if (from == "work" && fs::exists(file)) {
    throw UsageError(lab.places.shown(file) + " is not a file: ./lab reset " + exercise.handle() +
                     " moves it aside and restores the original");
  }
  if (from == "work") {
    throw UsageError(lab.places.shown(file) + " does not exist: ./lab reset " + exercise.handle() +
                     " restores the original");
  }
  throw UsageError("there is no " + lab.places.shown(file) + " to judge");
}

CaseAddress address_given(const std::string& written) {
  if (auto address = case_address(written)) return *std::move(address);
  throw UsageError(
      "--case " + written +
      " is not a case: pass a number, 1 or more, or the address of a smaller variant from a "
      "report (3.0.2)");
}

// How the file is to be linked, and what the judge is to know of it.
PlayerKind kind_of_player(const Arguments& arguments, JudgeOptions& judging) {
  const std::string& world = arguments.get("world");
  const bool processes = world != "judge";
  if (processes && arguments.flag("sanitize")) {
    throw UsageError("--sanitize works only under the judge: leave out --world");
  }
  if (arguments.flag("sanitize")) {
    judging.replay_with += judging.replay_with.empty() ? "--sanitize" : " --sanitize";
    return PlayerKind::sanitized;
  }
  if (!processes) return PlayerKind::usual;
  judging.world = PlayerWorld::processes;
  const bool paper = arguments.flag("paper");
  judging.replay_with +=
      text(judging.replay_with.empty() ? "" : " ", "--world ", world, paper ? " --paper" : "");
  return world == "gloo" ? PlayerKind::shared : paper ? PlayerKind::paper : PlayerKind::gpu;
}

// "" when the machine can play in the world that is asked for.
std::string what_is_missing(const Lab& lab, const std::string& world, const Arguments& arguments) {
  if (world == "nccl" && lab.packed) {
    return "--world nccl needs the whole lab: this is the students' edition, which has no code for "
           "GPUs";
  }
  if (world == "nccl" && *LOCKSTEP_NO_NCCL != 0) {
    return "--world nccl needs NVIDIA's compiler, on paper, too: " LOCKSTEP_NO_NCCL;
  }
  if (world == "nccl" && !arguments.flag("paper") && ::access("/dev/nvidiactl", F_OK) != 0) {
    return "--world nccl needs an NVIDIA GPU for each rank, and this machine has no NVIDIA driver; "
           "add --paper to do without, slowly (./lab doctor)";
  }
  if (world == "gloo" && ::access("/dev/shm", W_OK) != 0) {
    return "--world gloo needs shared memory in /dev/shm, which is not writable";
  }
  return {};
}

// Without --output, of a file that passes, only that there is something to see.
void hide_output(Grade& grade, const Exercise& exercise) {
  if (grade.report.verdict != Verdict::pass || grade.report.output.empty()) return;
  grade.report.output.clear();
  grade.report.message +=
      text(grade.report.message.empty() ? "" : "\n", "the ranks printed output: ./lab check ",
           exercise.handle(), " --output shows it");
}

void tell_how_to_go_on(const Lab& lab, const Exercise& exercise) {
  const Progress progress = read_progress(lab.places.progress());
  std::cout << wrapped(after_pass(lab, exercise, progress), lab.columns);
}

}  // namespace

Exit check_command(const Lab& lab, const Words& words) {
  const Arguments arguments = parsed(check_options(), words);
  if (arguments.asks_help()) return print_help(check_options());
  if (const std::string missing = what_is_missing(lab, arguments.get("world"), arguments);
      !missing.empty()) {
    std::cerr << "lab: " << missing << "\n";
    return Exit::machine;
  }
  JudgeOptions judging;
  judging.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  if (arguments.given("case")) judging.only_case = address_given(arguments.get("case"));
  judging.limits = lab.limits;
  const std::string from = arguments.get("from");
  if (from != "work") judging.replay_with = "--from " + from;
  const PlayerKind kind = kind_of_player(arguments, judging);
  const bool counts =
      from == "work" && !judging.only_case && !arguments.given("seed") && kind == PlayerKind::usual;

  auto documents = nlohmann::json::array();
  Exit exit = Exit::passed;
  int passed = 0;
  const auto exercises = chosen(lab, arguments);
  const auto is_told_at_once = [&](const Exercise* exercise) {
    return kind == PlayerKind::usual && !judging.only_case &&
           is_untouched(lab, *exercise, file_of(lab, *exercise, from));
  };
  auto judged = exercises;
  std::erase_if(judged, is_told_at_once);
  make_ready(lab, judged, kind);
  for (const Exercise* exercise : exercises) {
    if (judging.only_case && exercise->kind == Kind::quiz) {
      throw UsageError(exercise->handle() + " has questions, not cases: leave out --case");
    }
    if (judging.world == PlayerWorld::processes && !exercise->among_processes) {
      throw UsageError(
          exercise->handle() +
          " runs only under the judge: results from real processes do not show what it does");
    }
    const fs::path file = file_of(lab, *exercise, from);
    if (kind == PlayerKind::usual) judging.timeline_file = lab.places.timeline(*exercise).string();
    Grade grade = std::ranges::count(judged, exercise) == 0
                      ? grade_untouched(lab, *exercise, file, judging.seed)
                      : grade_file(lab, *exercise, file, judging, kind);
    if (!arguments.flag("output")) hide_output(grade, *exercise);
    if (arguments.flag("json")) {
      documents.push_back(json_of(grade));
    } else {
      const Times times = arguments.flag("time") ? Times::shown : Times::hidden;
      std::cout << wrapped(words_of(grade, lab, *exercise, times), lab.columns) << std::flush;
    }
    if (from == "work") write_compile_commands(lab);
    (counts ? note_standing : note_tried)(lab, *exercise, grade.report);
    const bool pass = grade.report.verdict == Verdict::pass;
    passed += pass;
    const bool alone = exercises.size() == 1 && !arguments.flag("json");
    if (pass && alone && counts) tell_how_to_go_on(lab, *exercise);
    if (grade.report.verdict == Verdict::infrastructure) {
      exit = Exit::lab_failed;
    } else if (!pass && exit == Exit::passed) {
      exit = Exit::failed;
    }
  }
  if (arguments.flag("json")) {
    std::cout << write_json(documents.size() == 1 ? documents.front() : documents, 2) << "\n";
  } else if (exercises.size() > 1) {
    std::cout << passed << " of " << exercises.size() << " passed\n";
  }
  // After a pass something else comes next; an untouched file is about to be worked at.
  if (from == "work" && passed > 0) build_ahead(lab);
  if (from == "work" && passed == 0 && judged.empty()) build_ahead(lab, exercises.front());
  return exit;
}

}  // namespace lockstep::grader
