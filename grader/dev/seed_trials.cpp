#include "grader/dev/seed_trials.hpp"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include "engine/base/error.hpp"

namespace lockstep::grader {

namespace {

constexpr int seeds_most = 100'000;

int seeds_in(Words& words, int usual) {
  const auto option = std::ranges::find(words, "--seeds");
  if (option == words.end()) return usual;
  const bool number =
      option + 1 != words.end() && !(option + 1)->empty() && (option + 1)->size() <= 6 &&
      std::ranges::all_of(*(option + 1), [](char c) { return c >= '0' && c <= '9'; });
  const int seeds = number ? std::stoi(*(option + 1)) : 0;
  if (seeds < 1 || seeds > seeds_most) {
    throw UsageError(text("--seeds takes a number, 1 to ", seeds_most));
  }
  words.erase(option, option + 2);
  return seeds;
}

}  // namespace

SeedTrials seed_trials(const Lab& lab, Words words) {
  SeedTrials trials;
  trials.seeds = seeds_in(words, trials.seeds);
  trials.recall = recall_asked_for(words);
  for (const Exercise& exercise : lab.course.exercises) {
    if (exercise.kind == Kind::code && words.empty()) trials.exercises.push_back(&exercise);
  }
  for (const std::string& name : words) {
    for (const Exercise* exercise : exercises_named(lab.course, name)) {
      if (exercise->kind == Kind::code) trials.exercises.push_back(exercise);
    }
  }
  return trials;
}

bool all_hold(const Lab& lab, const SeedTrials& trials,
              const std::function<Trial(const Exercise&)>& trial_of,
              const std::function<std::string(const Exercise&)>& complaints_of) {
  const auto& exercises = trials.exercises;
  std::vector<std::string> complaints(exercises.size());
  std::atomic<std::size_t> next{0};
  Memory memory(lab, trials.recall);
  {
    std::vector<std::jthread> strands;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      strands.emplace_back([&] {
        for (std::size_t at = next++; at < exercises.size(); at = next++) {
          try {
            Trial trial = trial_of(*exercises[at]);
            trial.what += text(" of ", exercises[at]->address(), ", seeds 1 to ", trials.seeds);
            const std::string digest = digest_of(lab.places, trial);
            if (memory.recall(trial.what, digest)) continue;
            complaints[at] = complaints_of(*exercises[at]);
            if (complaints[at].empty()) memory.remember(trial, digest, "");
          } catch (const Error& error) {
            complaints[at] = text(exercises[at]->handle(), ": ", error.what(), "\n");
          }
        }
      });
    }
  }
  for (const std::string& complaint : complaints) std::cout << complaint;
  return std::ranges::all_of(complaints, &std::string::empty);
}

std::string text_of(const SeedTrials& trials) {
  return text(trials.exercises.size(),
              trials.exercises.size() == 1 ? " exercise, " : " exercises, ", trials.seeds,
              trials.seeds == 1 ? " seed" : " seeds");
}

}  // namespace lockstep::grader
