// The settings of a run that may change when it is continued, noted in its checkpoints, so that a
// continued run can say what has changed.
#pragma once

#include "engine/apps/train_options.hpp"
#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::apps {

// The learning rate of each step of a run, as far as its checkpoints tell of it.
struct RatesOfRun {
  std::int64_t steps = 0;  // of the whole run
  double last = 0;         // the rate of the last step that was taken; 0 before the first
  double next = 0;         // of the step that follows
};

// As notes of a checkpoint. Each key is as a person types or says it.
checkpoint::Metadata settings_of(const Arguments& arguments, const RatesOfRun& rates);

// "--lr was 0.05 and is 0.1, the run had 12 steps and has 20, so …": one sentence about what
// `before`, a checkpoint's notes, says otherwise; empty when nothing changed, or when the notes do
// not tell.
std::string told_of_changes(const checkpoint::Metadata& before, const Arguments& arguments,
                            const RatesOfRun& now);

}  // namespace lockstep::apps
