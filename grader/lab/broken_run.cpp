#include "grader/lab/broken_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/base/nearest.hpp"
#include "engine/base/step_counter.hpp"
#include "engine/base/temporary_folder.hpp"
#include "grader/course/broken.hpp"
#include "grader/course/command.hpp"
#include "grader/course/text_file.hpp"
#include "grader/judge/compare.hpp"
#include "grader/lab/command_line.hpp"
#include "grader/lab/curve_chart.hpp"
#include "grader/lab/paint.hpp"
#include "grader/lab/ready.hpp"
#include "grader/lab/student_program.hpp"
#include "grader/lab/training_log.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double run_deadline_s = 300;
constexpr std::size_t chart_rows = 12;

TrainingRun trained(const fs::path& program, const Words& options, const fs::path& log) {
  std::vector<std::string> argv{program.string()};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"--log", log.string()});
  return training_run(log, run_command(argv, fs::current_path(), {.deadline_s = run_deadline_s}));
}

// The run's options: the mistake's own, without those that the caller gives again, and the
// caller's.
Words options_of(const Broken& broken, const Options& options, const Arguments& typed) {
  const Arguments mistakes = read_words(options, broken.run);
  Words words;
  for (const Arguments::Typed& own : mistakes.typed()) {
    if (typed.given(own.name)) continue;
    words.insert(words.end(), own.words.begin(), own.words.end());
  }
  const Words given = typed_without(typed, {});
  words.insert(words.end(), given.begin(), given.end());
  return typed_without(parsed(options, words), {"break", "json"});
}

std::string joined(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// Up to the rounding of sums in another order, which training magnifies.
bool same_losses(const TrainingRun& sound, const TrainingRun& wrong) {
  return std::ranges::equal(sound.losses, wrong.losses, [](double one, double other) {
    return std::abs(one - other) <= 0.01 * std::abs(one);
  });
}

// Whether the broken run shows what its manifest says it shows.
bool shows(const Broken& broken, const TrainingRun& sound, const TrainingRun& wrong) {
  if (sound.ended || sound.different != 1) return false;
  switch (broken.shows) {
    case Symptom::replicas:
      return wrong.different > 1;
    case Symptom::end:
      return wrong.ended;
    case Symptom::order:
      return repetition(wrong) > 0.9 && repetition(sound) < 0.5;
    case Symptom::bytes:
      return !wrong.ended && same_losses(sound, wrong) && sound.bytes_sent && wrong.bytes_sent &&
             2 * *wrong.bytes_sent > 3 * *sound.bytes_sent;
    case Symptom::time:
      return !wrong.ended && same_losses(sound, wrong) && sound.samples_per_s &&
             wrong.samples_per_s && *sound.samples_per_s > 1.5 * *wrong.samples_per_s;
    case Symptom::loss:
      break;
  }
  // Written so that a loss that is no number counts as higher.
  return wrong.ended || wrong.losses.empty() ||
         !(wrong.losses.back() < 1.2 * sound.losses.back() &&
           *wrong.test_loss < 1.2 * *sound.test_loss);
}

std::string number(std::optional<double> value, const char* format, double factor = 1) {
  if (!value) return "none";
  char out[32];
  std::snprintf(out, sizeof out, format, *value * factor);
  return out;
}

std::string replicas_of(const TrainingRun& run) {
  if (run.replicas == 0) return "not compared";
  if (run.parts) return "parts of one model";
  if (run.different == 1) return text("equal on all ", run.replicas, " ranks");
  return text(run.different, " different models on ", run.replicas, " ranks");
}

void print_row(const char* name, const std::string& sound, const std::string& wrong) {
  std::cout << "  " << padded(name, 16) << padded(sound, 28) << wrong << "\n";
}

void print(const Lab& lab, const Broken& broken, const TrainingRun& sound,
           const TrainingRun& wrong) {
  const std::size_t columns = lab.columns == 0 ? 96 : std::min<std::size_t>(lab.columns, 120);
  if (broken.shows == Symptom::order && wrong.epoch_ends.size() > 1) {
    std::cout << "\nthe broken run's loss: o next-to-last epoch, x last epoch, # both\n"
              << chart_of({'o', epoch_of(wrong, 1)}, {'x', epoch_of(wrong, 0)}, columns,
                          chart_rows);
  } else {
    std::cout << "\nloss of each step: o sound, x broken, # both\n"
              << chart_of({'o', sound.losses}, {'x', wrong.losses}, columns, chart_rows);
  }
  std::cout << "\n";
  print_row("", "sound", "broken");
  const auto last = [](const TrainingRun& run) {
    return run.losses.empty() ? std::nullopt : std::optional(run.losses.back());
  };
  print_row("steps", text(sound.losses.size()), text(wrong.losses.size()));
  print_row("last loss", number(last(sound), "%.4f"), number(last(wrong), "%.4f"));
  print_row("test loss", number(sound.test_loss, "%.4f"), number(wrong.test_loss, "%.4f"));
  print_row("test accuracy", number(sound.accuracy, "%.2f %%", 100),
            number(wrong.accuracy, "%.2f %%", 100));
  if (broken.shows == Symptom::order) {
    print_row("repetition", number(repetition(sound), "%.2f"), number(repetition(wrong), "%.2f"));
  }
  if (broken.shows == Symptom::bytes) {
    const auto sent = [](const TrainingRun& run) {
      return run.bytes_sent ? grouped(*run.bytes_sent) : std::string("none");
    };
    print_row("bytes per step", sent(sound), sent(wrong));
  }
  if (broken.shows == Symptom::time) {
    print_row("samples per s", number(sound.samples_per_s, "%.0f"),
              number(wrong.samples_per_s, "%.0f"));
  }
  print_row("replicas", replicas_of(sound), replicas_of(wrong));
  if (wrong.ended) std::cout << "\n  it stopped: " << wrong.words << "\n";
  std::cout << "\n" << broken.why << "\n";
}

json json_of(const TrainingRun& run) {
  json object{{"losses", run.losses}, {"ended", run.ended}, {"different_replicas", run.different}};
  object["test_loss"] = run.test_loss ? json(*run.test_loss) : json();
  object["test_accuracy"] = run.accuracy ? json(*run.accuracy) : json();
  object["bytes_sent"] = run.bytes_sent ? json(*run.bytes_sent) : json();
  object["samples_per_s"] = run.samples_per_s ? json(*run.samples_per_s) : json();
  if (run.ended) object["words"] = run.words;
  return object;
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
      std::cout << "  " << padded(broken.name, 22) << broken.what << "\n";
    }
    return Exit::passed;
  }
  const Broken& broken = broken_named(all, typed.get("break"));
  const Words run = options_of(broken, options, typed);
  const bool as_json = typed.flag("json");
  if (!as_json) {
    std::cout << bold(lab.paint, broken.name) << ": " << broken.what << "\n"
              << "  part   " << broken.part->name << ", replaced by "
              << lab.places.shown(broken.source) << "\n"
              << "  run    ./lab train " << joined(run) << "\n"
              << std::flush;
  }

  make_ready(lab, {broken.part});
  const StudentProgram train(lab, "train");
  const TemporaryFolder logs("break");
  StepCounter progress(3);
  progress.begin("linking the trainer with the broken part");
  const fs::path program = train.link({{broken.part, broken.source}}, "train." + broken.name);
  progress.begin("the sound run");
  const TrainingRun sound = trained(lab.places.build / "bin" / "train", run, logs.path() / "sound");
  if (sound.ended) {
    progress.clear();
    throw UsageError("the sound run stopped too, so nothing can be compared: " + sound.words);
  }
  progress.begin("the broken run");
  const TrainingRun wrong = trained(program, run, logs.path() / "broken");
  progress.clear();

  const bool visible = shows(broken, sound, wrong);
  if (as_json) {
    std::cout
        << json{{"break", broken.name},    {"part", broken.part->address()}, {"run", run},
                {"sound", json_of(sound)}, {"broken", json_of(wrong)},       {"visible", visible}}
               .dump(2)
        << "\n";
  } else {
    print(lab, broken, sound, wrong);
    if (!visible) {
      std::cout << "\nWith these options, the mistake does not show, and that makes it dangerous. "
                   "Omit the options to see it.\n";
    }
  }
  return Exit::passed;
}

}  // namespace lockstep::grader
