#include "grader/further/broken_run.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/temporary_folder.hpp"
#include "grader/course/compile/command.hpp"
#include "grader/course/proofs/broken.hpp"
#include "grader/further/compared_runs.hpp"
#include "grader/further/student_program.hpp"
#include "grader/further/trainer.hpp"
#include "grader/further/training_log.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr CommandLimits run_limits{.deadline_s = 300, .work_s = 600};

// On one thread: the models are small, and on a busy machine threads that wait for each other take
// ten times as long.
TrainingRun trained(const fs::path& program, const Words& options, const fs::path& log) {
  std::vector<std::string> argv{"env", "OMP_NUM_THREADS=1", program.string()};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"--log", log.string()});
  return training_run(log, run_command(argv, fs::current_path(), run_limits));
}

// `base` without the options that `over` gives again, and `over`.
Words overridden(const Options& options, const Words& base, const Words& over) {
  const Arguments again = read_words(options, over);
  Words names;
  for (const Arguments::Typed& one : again.typed()) names.push_back(one.name);
  Words words = typed_without(read_words(options, base), names);
  words.insert(words.end(), over.begin(), over.end());
  return words;
}

// The options of each run: the mistake's own, without those that the caller gives again, and the
// caller's. What the mistake says of one of the runs stands above both.
struct RunOptions {
  Words before, sound, broken;  // `before` is empty when there is no such run
};

RunOptions options_of(const Broken& broken, const Options& options, const Arguments& typed) {
  const Words all = overridden(options, broken.run, typed_without(typed, {}));
  RunOptions runs;
  runs.broken = typed_without(parsed(options, all), {"break", "json"});
  runs.sound = overridden(options, runs.broken, broken.sound);
  const Words& before = broken.before.empty() ? broken.each_before : broken.before;
  const bool saves = !before.empty() || read_words(options, broken.run).given("checkpoint");
  if (saves && (typed.given("checkpoint") || typed.given("resume"))) {
    throw UsageError(
        text(broken.name, " has checkpoints of its own; leave out --checkpoint and ", "--resume"));
  }
  if (!before.empty()) runs.before = overridden(options, runs.broken, before);
  return runs;
}

std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

void print_runs(const Lab& lab, const Broken& broken, const RunOptions& runs) {
  std::cout << bold(lab.paint, broken.name) << ": " << broken.what << "\n"
            << "  part   " << broken.part->name
            << (broken.source.empty() ? std::string(", as it is: the mistake is in the options")
                                      : ", replaced by " + lab.places.shown(broken.source))
            << "\n";
  const auto line = [](const char* name, const Words& words, const char* rest = "") {
    std::cout << "  " << padded(name, 7) << "./lab train " << joined(words) << rest << "\n";
  };
  const char* resumes = runs.before.empty() ? "" : " --checkpoint FOLDER --resume";
  if (!runs.before.empty()) line("first", runs.before, " --checkpoint FOLDER");
  if (runs.sound != runs.broken) line("sound", runs.sound, resumes);
  line(runs.sound == runs.broken ? "run" : "broken", runs.broken, resumes);
  std::cout << std::flush;
}

// One program for all of the runs, which are compared.
std::string trainer_of(const Lab& lab, const Options& options, const RunOptions& runs) {
  const Arguments before = read_words(options, runs.before),
                  sound = read_words(options, runs.sound),
                  broken = read_words(options, runs.broken);
  return ready_trainer(lab, {&before, &sound, &broken});
}

const Broken& broken_named(const std::vector<Broken>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Broken::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Broken& broken : all) names.push_back(broken.name);
  throw UsageError(text("there is no mistake '", name, "'", did_you_mean(name, names),
                        " (./lab train --break list lists them all)"));
}

}  // namespace

Exit run_broken(const Lab& lab, const Options& options, const Arguments& typed) {
  const std::vector<Broken> all = broken_parts(lab.places.root, lab.course);
  if (typed.get("break") == "list") {
    for (const Broken& broken : all) {
      std::cout << "  " << padded(broken.name, 25) << broken.what << "\n";
    }
    return Exit::passed;
  }
  const Broken& broken = broken_named(all, typed.get("break"));
  const RunOptions runs = options_of(broken, options, typed);
  const bool as_json = typed.flag("json");
  if (!as_json) print_runs(lab, broken, runs);

  make_ready(lab, {broken.part});
  const std::string trainer = trainer_of(lab, options, runs);
  const TemporaryFolder folder("break");
  const fs::path reference = lab.places.build / "bin" / trainer;
  fs::path program = reference;
  const bool each_runs_before = !broken.each_before.empty();
  StepCounter progress(2 + (broken.source.empty() ? 0 : 1) + (runs.before.empty() ? 0 : 1) +
                       (each_runs_before ? 1 : 0));
  if (!broken.source.empty()) {
    progress.begin("linking the trainer with the broken part");
    const StudentProgram train(lab, trainer);
    program = train.link({{broken.part, broken.source}}, "train." + broken.name);
  }
  const auto sound_one = [&](const std::string& name, const Words& words) {
    progress.begin("the " + name + " run");
    const TrainingRun run = trained(reference, words, folder.path() / (name + ".log"));
    if (!run.ended) return run;
    progress.clear();
    throw UsageError(
        text("the ", name, " run stopped too, so nothing can be compared: ", run.words));
  };
  const auto saving = [&](const Words& words, const std::string& name) {
    return overridden(options, words, {"--checkpoint", (folder.path() / name).string()});
  };
  // A run writes checkpoints where it resumes, so each resumes from a folder of its own: a copy, or
  // what its own program has left there.
  const auto ready = [&](Words words, const std::string& name, const fs::path& runs_before) {
    if (runs.before.empty()) {
      return read_words(options, words).given("checkpoint") ? saving(words, name) : words;
    }
    if (each_runs_before) {
      progress.begin("the " + name + " program's first run");
      trained(runs_before, saving(runs.before, name), folder.path() / "first.log");
    } else {
      fs::copy(folder.path() / "first", folder.path() / name, fs::copy_options::recursive);
    }
    words.emplace_back("--resume");
    return saving(words, name);
  };
  if (!runs.before.empty() && !each_runs_before) {
    sound_one("first", saving(runs.before, "first"));
  }
  const TrainingRun sound = sound_one("sound", ready(runs.sound, "sound", reference));
  const Words last = ready(runs.broken, "broken", program);
  progress.begin("the broken run");
  const TrainingRun wrong = trained(program, last, folder.path() / "broken.log");
  progress.clear();

  const bool visible = shows(broken, sound, wrong);
  if (as_json) {
    std::cout << json{{"break", broken.name},     {"part", broken.part->address()},
                      {"run", runs.broken},       {"sound_run", runs.sound},
                      {"first_run", runs.before}, {"sound", json_of(sound)},
                      {"broken", json_of(wrong)}, {"visible", visible}}
                     .dump(2)
              << "\n";
  } else {
    print_compared(lab, broken, sound, wrong);
    if (!visible) {
      std::cout << "\nWith these options, the mistake does not show, and that makes it dangerous. "
                   "Omit the options to see it.\n";
    }
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
