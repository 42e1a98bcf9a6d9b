#include "grader/further/compared_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "grader/further/curve_chart.hpp"
#include "grader/judge/compare.hpp"
#include "grader/lab/wrap.hpp"

namespace lockstep::grader {
namespace {

constexpr std::size_t chart_rows = 12;

// Up to the rounding of sums in another order, which training magnifies.
bool same_losses(const TrainingRun& sound, const TrainingRun& wrong) {
  return std::ranges::equal(sound.losses, wrong.losses, [](double one, double other) {
    return std::abs(one - other) <= 0.01 * std::abs(one);
  });
}

std::string number(std::optional<double> value, const char* format, double factor = 1) {
  if (!value) return "none";
  char out[32];
  std::snprintf(out, sizeof out, *value < 1e6 ? format : "%.2e", *value * factor);
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

}  // namespace

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
    case Symptom::steps:
      return !wrong.ended && wrong.losses.size() > sound.losses.size();
    case Symptom::loss:
      break;
  }
  // Written so that a loss that is no number counts as higher.
  return wrong.ended || wrong.losses.empty() ||
         !(wrong.losses.back() < 1.2 * sound.losses.back() &&
           *wrong.test_loss < 1.2 * *sound.test_loss);
}

void print_compared(const Lab& lab, const Broken& broken, const TrainingRun& sound,
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

nlohmann::json json_of(const TrainingRun& run) {
  nlohmann::json object{
      {"losses", run.losses}, {"ended", run.ended}, {"different_replicas", run.different}};
  object["test_loss"] = run.test_loss ? nlohmann::json(*run.test_loss) : nlohmann::json();
  object["test_accuracy"] = run.accuracy ? nlohmann::json(*run.accuracy) : nlohmann::json();
  object["bytes_sent"] = run.bytes_sent ? nlohmann::json(*run.bytes_sent) : nlohmann::json();
  object["samples_per_s"] =
      run.samples_per_s ? nlohmann::json(*run.samples_per_s) : nlohmann::json();
  if (run.ended) object["words"] = run.words;
  return object;
}

}  // namespace lockstep::grader
