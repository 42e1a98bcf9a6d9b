// The command line of `train`, by section, with what does not combine. It stands apart from what
// makes values of it (train_options.hpp), so that lab-tool reads the same line without linking the
// trainer.
//
// A new way to train brings one function of train_command_line.cpp: a section, its options, and
// what they do not combine with.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/options.hpp"

namespace lockstep::apps {

inline constexpr std::int64_t default_bucket_mb = 25;   // what DDP's BucketLimits begin with
inline constexpr std::int64_t default_fusion_mb = 128;  // what HorovodOptions begin with

inline constexpr int ranks_max = 4096;

Options train_options();

// What a run means whose options leave it open.
//   Returns  more than ranks_max, whatever was typed, when it is
std::int64_t ranks_of(const Arguments& arguments);
bool is_gpt(const Arguments& arguments);
bool has_numbers(const Arguments& arguments);  // or tensors with shapes only
std::string data_name(const Arguments& arguments);
std::string optimizer_name(const Arguments& arguments);

}  // namespace lockstep::apps
