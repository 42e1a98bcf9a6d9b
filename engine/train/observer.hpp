// The interface through which a log, a progress bar or a test watches a training run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/collectives/communication.hpp"
#include "engine/nn/mixture.hpp"
#include "engine/tensor/host_memory.hpp"
#include "engine/train/agreement.hpp"

namespace lockstep::train {

// How busy the stages of a pipeline were: of all stages together, over one step or several.
struct StageTimes {
  double busy_s = 0;  // in passes
  double span_s = 0;  // from the first pass to the end of the last: that of the slowest stage, for
                      // each of them
  double bubble_of_total() const { return 1 - busy_s / span_s; }
  double bubble_of_ideal() const { return span_s / busy_s - 1; }
};

// One optimizer step.
struct StepReport {
  std::int64_t step = 0;        // from 1
  std::int64_t steps = 0;       // of the whole run
  std::int64_t epoch = 0;       // from 1
  double loss = 0;              // mean over the global batch, before the update; or nan
  double samples_per_s = 0;     // of all ranks together, in this step
  double seconds = 0;           // since training began
  std::int64_t bytes_sent = 0;  // by this rank, for gradients and the report of the loss
  collectives::Communication communication{};  // of the gradients; zeros when that is not measured
  // On a group whose clock is modelled: since training began, by the machine's clock.
  std::optional<double> wall_seconds = std::nullopt;
  std::optional<std::int64_t> staleness = std::nullopt;  // as in a strategy's Cost
  std::optional<StageTimes> stages = std::nullopt;       // of a pipeline
  std::optional<HostCopies> host = std::nullopt;         // where state is offloaded
  collectives::Communication exchange{};                 // as in a strategy's Cost
  std::optional<nn::Routing> routing = std::nullopt;     // of all ranks, where there are experts
};

// Figures of a run whose workers go at their own pace; empty for any other.
struct Asynchrony {
  std::vector<std::int64_t> staleness;  // how many pushes had a staleness of 0, 1, …
  std::vector<std::string> lost;        // a sentence for each worker that was
};

// One epoch, or what was left of it when the run ended inside.
struct EpochReport {
  std::int64_t epoch = 0;  // from 1
  double train_loss = 0;   // mean over the epoch's samples, each before its update
  double test_loss = 0;
  double test_accuracy = 0;                           // 0 to 1
  Agreement agreement;                                // of the ranks that train
  double seconds = 0;                                 // since training began
  std::optional<double> wall_seconds = std::nullopt;  // as in a step
};

struct Summary {
  double seconds = 0;
  double samples_per_s = 0;     // of all ranks together, evaluation not counted
  double test_accuracy = 0;     // nan where nothing was evaluated
  bool replicas_equal = false;  // bit for bit, at the end of every epoch that was compared
  collectives::Communication communication{};         // of all steps together
  std::optional<double> wall_seconds = std::nullopt;  // as in a step
  Asynchrony asynchrony{};
  int stopped_by = 0;  // the signal that ended the run before its last step; 0: none
  // The times of a pipeline's stages, over all steps but the first, which makes what later ones
  // find.
  std::optional<StageTimes> stages = std::nullopt;
  // Choices and drops in all steps, loads in the last one; of 0 experts where there are none.
  nn::Routing routing{};
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport& report) = 0;
  virtual void on_epoch(const EpochReport& report) = 0;
  virtual void on_end(const Summary& summary) = 0;
};

}  // namespace lockstep::train
