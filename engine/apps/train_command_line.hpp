// The command line of `train`, by section, with what does not combine. It stands apart from what
// makes values of it (train_options.hpp), so that lab-tool reads the same line without linking the
// trainer.
//
// What belongs to a way to train is declared by that way (engine/train/way.hpp), and so is what it
// does not combine with.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/options.hpp"
#include "engine/train/way.hpp"

namespace lockstep::apps {

inline constexpr int ranks_max = 4096;

Options train_options(std::span<const train::Way> ways = train::declared_ways());

// The number of ranks, also for a run whose options leave it open.
//   Returns  more than ranks_max, whatever was typed, when it is
std::int64_t ranks_of(const Arguments& arguments,
                      std::span<const train::Way> ways = train::declared_ways());
// The program that has all that a run asks for. `train` has the ways that are always built; a
// further one has a program of its own, and several of them share one.
struct Trainer {
  std::string program = "train";  // "train-pipeline"
  std::string what = {};          // "pipeline parallelism"; empty for train
};
Trainer trainer_for(const Arguments& arguments,
                    std::span<const train::Way> ways = train::declared_ways());

std::string data_name(const Arguments& arguments);
std::string optimizer_name(const Arguments& arguments);

}  // namespace lockstep::apps
