// Ways to train that are in no room of the engine, each as small as it can be: they show that
// the interface of a strategy carries ranks that work on one replica together, ranks that do not
// train or wait, and state that no rank holds in whole.
#pragma once

#include <functional>

#include "engine/train/strategy.hpp"

namespace lockstep::test {

// An mlp cut in two: rank 0 has the first half of its layers, rank 1 the second. A step's batches
// are its micro-batches.
std::unique_ptr<train::Strategy> make_two_stages(comm::ProcessGroup& group, Device& device,
                                                 const train::Recipe& recipe);

// The last rank keeps the weights and updates them; the others push gradients and pull weights.
std::unique_ptr<train::Strategy> make_one_server(comm::ProcessGroup& group, Device& device,
                                                 const train::Recipe& recipe);

// Every rank holds the model, and updates each N-th parameter: it keeps the optimizer's state of
// these only.
std::unique_ptr<train::Strategy> make_shared_update(comm::ProcessGroup& group, Device& device,
                                                    const train::Recipe& recipe, double clip_norm);

// The first ranks of the group train by another strategy, the others stand by.
std::unique_ptr<train::Strategy> make_some_stand_by(
    comm::ProcessGroup& group, int training,
    const std::function<std::unique_ptr<train::Strategy>(comm::ProcessGroup& trainers)>& make);

}  // namespace lockstep::test
