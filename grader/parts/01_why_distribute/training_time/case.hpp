// The case format of training_time, shared by adapter and exam.
#pragma once

#include "engine/plan/training_time.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class TimeForm : std::uint8_t { measured, counted };

// One question about one of the two forms; the other form's fields keep their defaults.
struct TimeQuestion {
  TimeForm form = TimeForm::measured;
  int ranks = 1;
  plan::MeasuredRun measured;
  plan::CountedRun counted;
  plan::Accelerator device;
};

template <typename Archive>
void fields(Archive& archive, TimeQuestion& q) {
  archive(q.form, q.ranks);
  archive(q.measured.samples, q.measured.batch_size, q.measured.epochs, q.measured.step_s,
          q.measured.efficiency);
  archive(q.counted.parameters, q.counted.tokens, q.counted.batch_tokens);
  archive(q.device.peak_flops_per_s, q.device.utilisation);
}

}  // namespace lockstep::grader

namespace lockstep::plan {

template <typename Archive>
void fields(Archive& archive, TimeEstimate& estimate) {
  archive(estimate.updates, estimate.seconds, estimate.rank_seconds);
}

}  // namespace lockstep::plan
