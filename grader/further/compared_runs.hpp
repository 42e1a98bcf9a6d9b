// A sound training run beside a broken one: what tells them apart, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "grader/course/proofs/broken.hpp"
#include "grader/further/training_log.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// True if the broken run shows what its manifest says it shows, and the sound run does not.
bool shows(const Broken& broken, const TrainingRun& sound, const TrainingRun& wrong);

// Both losses as a chart, a table of both runs, and the manifest's explanation.
void print_compared(const Lab& lab, const Broken& broken, const TrainingRun& sound,
                    const TrainingRun& wrong);

nlohmann::json json_of(const TrainingRun& run);

}  // namespace lockstep::grader
