#include "grader/further/training_log.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "engine/base/text.hpp"
#include "grader/course/text/text_file.hpp"

namespace lockstep::grader {
namespace {

using nlohmann::json;

// The trainer's own sentence, or the last line where it has none.
std::string why_it_ended(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t sentence = line.find("lab train: ");
    if (sentence != std::string::npos) return line.substr(sentence + 11);
    if (!line.empty()) last = line;
  }
  return last;
}

void add(TrainingRun& run, const json& event) {
  const std::string kind = event.value("event", "");
  if (kind == "step") {
    if (event.at("loss").is_number()) run.losses.push_back(event.at("loss"));
    if (event.contains("bytes_sent")) run.bytes_sent = event.at("bytes_sent");
    if (event.contains("samples_per_s")) run.samples_per_s = event.at("samples_per_s");
  } else if (kind == "epoch") {
    run.epoch_ends.push_back(run.losses.size());
    if (event.at("test_loss").is_number()) run.test_loss = event.at("test_loss");
    if (event.at("test_accuracy").is_number()) run.accuracy = event.at("test_accuracy");
    const auto hashes = event.at("parameters_hash").get<std::vector<std::string>>();
    run.replicas = hashes.size();
    run.different = std::set<std::string>(hashes.begin(), hashes.end()).size();
  } else if (kind == "end") {
    run.ended = false;
    run.parts = run.different > 1 && event.value("replicas_equal", false);
    if (run.parts) run.different = 1;
  }
}

// The noise of the batches, without the slow fall: by how much the loss's logarithm changes at each
// step, less the mean of these changes.
std::vector<double> noise_of(const std::vector<double>& losses) {
  std::vector<double> noise;
  if (losses.size() < 2) return noise;
  const double mean =
      std::log(losses.back() / losses.front()) / static_cast<double>(losses.size() - 1);
  for (std::size_t i = 1; i < losses.size(); ++i) {
    noise.push_back(std::log(losses[i] / losses[i - 1]) - mean);
  }
  return noise;
}

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TrainingRun training_run(const std::filesystem::path& log, const CommandResult& result) {
  TrainingRun run;
  if (std::filesystem::exists(log)) {
    std::istringstream lines(read_text(log));
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line, nullptr, false);
      if (!event.is_discarded()) add(run, event);
    }
  }
  if (result.timed_out) {
    run.words = text("it was still running after ", static_cast<int>(result.seconds), " s");
  } else if (run.ended) {
    run.words = why_it_ended(result.output);
  }
  return run;
}

std::vector<double> epoch_of(const TrainingRun& run, std::size_t back) {
  if (run.epoch_ends.size() <= back) return {};
  const std::size_t epoch = run.epoch_ends.size() - 1 - back;
  const std::size_t begin = epoch == 0 ? 0 : run.epoch_ends[epoch - 1];
  return {run.losses.begin() + static_cast<std::ptrdiff_t>(begin),
          run.losses.begin() + static_cast<std::ptrdiff_t>(run.epoch_ends[epoch])};
}

std::optional<double> repetition(const TrainingRun& run) {
  const auto last = noise_of(epoch_of(run, 0)), before = noise_of(epoch_of(run, 1));
  if (last.size() < 10 || last.size() != before.size()) return std::nullopt;
  return product_of(last, before) / std::sqrt(product_of(last, last) * product_of(before, before));
}

}  // namespace lockstep::grader
