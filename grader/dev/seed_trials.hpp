// Trials of every exam under many seeds: each exercise is tried with the seeds 1 to N, exercises
// side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/memory/memory.hpp"

namespace lockstep::grader {

// [NAME…] [--seeds N] [--afresh]
struct SeedTrials {
  int seeds = 3;
  Recall recall = Recall::allowed;
  std::vector<const Exercise*> exercises;  // of code, those that are named or all
};

//   Throws  UsageError when an exercise is unknown, or N is not 1 to 100,000
SeedTrials seed_trials(const Lab& lab, Words words);

// Tries each exercise, as many at a time as there are processors, and prints what `complaints_of`
// returns, in the order of the course. An Error is a complaint. An exercise without complaints is
// remembered by its trial and these seeds. True: there was none.
bool all_hold(const Lab& lab, const SeedTrials& trials,
              const std::function<Trial(const Exercise&)>& trial_of,
              const std::function<std::string(const Exercise&)>& complaints_of);

// "33 exercises, 50 seeds"
std::string text_of(const SeedTrials& trials);

}  // namespace lockstep::grader
