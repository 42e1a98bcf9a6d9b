#include "engine/optim/optimizer_spec.hpp"

#include <utility>

namespace lockstep::optim {

std::string_view name_of(OptimizerKind kind) {
  constexpr std::string_view names[]{"sgd", "adam", "adamw"};
  return names[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          std::vector<Parameter*> parameters) {
  switch (spec.kind) {
    case OptimizerKind::adam:
      return make_adam(std::move(parameters), spec.adam);
    case OptimizerKind::adamw:
      return make_adamw(std::move(parameters), spec.adam);
    case OptimizerKind::sgd:
      break;
  }
  return make_sgd(std::move(parameters), spec.sgd);
}

}  // namespace lockstep::optim
