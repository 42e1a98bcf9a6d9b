// The remains of a training run: its log, read back, and its last words when it ended early.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/course/compile/command.hpp"

namespace lockstep::grader {

struct TrainingRun {
  std::vector<double> losses;                 // of each step
  std::optional<std::int64_t> bytes_sent;     // by rank 0, in the last step
  std::optional<double> samples_per_s;        // of the last step
  std::vector<std::size_t> epoch_ends;        // steps until each epoch's end
  std::optional<double> test_loss, accuracy;  // after the last epoch
  std::size_t replicas = 0, different = 0;    // ranks, and different models among them at the end
  bool parts = false;  // each rank holds a part of one model, and `different` is 1
  bool ended = true;   // before its last step
  std::string words;   // of a run that ended
};

// `log` is what `train --log` wrote; a line that was cut in the middle is left out.
TrainingRun training_run(const std::filesystem::path& log, const CommandResult& result);

// The losses of the epoch that is `back` epochs before the last one; empty when there is none.
std::vector<double> epoch_of(const TrainingRun& run, std::size_t back);

// How much the last epoch repeats the one before: Pearson's correlation of their changes of the
// loss from step to step. Near 0 when the batches were mixed anew, near 1 when both epochs took the
// same batches in the same order. Nothing without two epochs of ten steps or more.
std::optional<double> repetition(const TrainingRun& run);

}  // namespace lockstep::grader
