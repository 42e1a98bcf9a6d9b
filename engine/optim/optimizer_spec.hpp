// The specification of an optimizer, as a value: enough to make it over any list of parameters,
// whether those are all of a model's or the ones that one rank updates.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/optim/optimizer.hpp"

namespace lockstep::optim {

enum class OptimizerKind : std::uint8_t { sgd, adam, adamw };
std::string_view name_of(OptimizerKind kind);  // what Optimizer::kind says

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  SgdOptions sgd{};
  AdamOptions adam{};  // of adam and adamw

  double learning_rate() const {
    return kind == OptimizerKind::sgd ? sgd.learning_rate : adam.learning_rate;
  }
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          std::vector<Parameter*> parameters);

}  // namespace lockstep::optim
