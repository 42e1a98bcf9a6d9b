// Which program trains: a way to train that is not always built has one of its own.
#pragma once

#include <string>
#include <vector>

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

// Builds the trainer that all of these runs need, if it is missing or out of date, and says so on
// standard error when it is built for the first time.
//   Returns  its name: "train", "train-pipeline". The students' edition has one for all: "train"
//   Throws   as make_targets_ready
std::string ready_trainer(const Lab& lab, const std::vector<const Arguments*>& runs);

}  // namespace lockstep::grader
