// The cost and the outputs of a model's units, found by running one sample through them without
// numbers. A pipeline uses them to cut a model into parts, and to know what a message between two
// of them carries.
#pragma once

#include <vector>

#include "engine/nn/model_spec.hpp"

namespace lockstep::pipeline {

struct UnitProfile {
  std::string name;
  double flops = 0;  // of the forward pass, a sample; of all ranks that share its layers
  Shape output;      // [1, …] of a sample, as a rank has it
  DType dtype{};     // of the output
};

std::vector<UnitProfile> profile_units(const nn::ModelSpec& spec);

// The model's units cut into `parts` contiguous ranges, one for each part, whose largest cost is as
// small as possible: the part partition_layers.
//   Throws  UsageError when there are more parts than units
std::vector<nn::UnitRange> cut(const std::vector<UnitProfile>& units, int parts);

// Parameters that lie in two parts, such as a tied embedding: their copies add up their gradients.
// The names of those of `one` that `other` has, too.
std::vector<std::string> shared_names(const nn::ModelSpec& spec, nn::UnitRange one,
                                      nn::UnitRange other);

}  // namespace lockstep::pipeline
