// A replica whose weights are float32 while its passes are of 16 bits, for strategies in which
// every rank has the whole model. What it adds stands in front of the parts of a step, which are
// those of any replica: the model scales its loss, and the optimizer knows the masters
// (optim::MasterOptimizer).
#pragma once

#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

// As recipe.precision says. The masters are what a float32 run begins with: the recipe's first
// weights, or its seed's.
//   Requires  recipe.precision.masters
//   Memory    of masters: optimizer state, as ZeRO counts them
//   Throws    CheckpointError when the recipe's first weights are of another model, or not of the
//             masters' type
Replica make_replica_with_masters(const Recipe& recipe, Device& device);

// The options of the loss scaler that a run has: PyTorch's, and a scale below 1 ends the run, as
// DeepSpeed's min_loss_scale.
std::optional<optim::LossScalerOptions> scaler_options(const Precision& precision);

// Sets a dynamic scaler to where an earlier run's was, if that had one.
void go_on(optim::LossScaler& scaler, const checkpoint::SavedRun& saved);

}  // namespace lockstep::train
