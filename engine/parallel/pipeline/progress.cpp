// The order in which a plan can be carried out.
#include "engine/parallel/pipeline/progress.hpp"

#include <algorithm>

namespace lockstep::pipeline {

int parts_of(const Plan& plan) { return plan.stages * plan.chunks; }

int part_of(const Plan& plan, int stage, const Action& action) {
  return action.chunk * plan.stages + stage;
}

std::vector<Need> needs_of(const Plan& plan, int stage, const Action& action) {
  const int part = part_of(plan, stage, action), j = action.micro_batch;
  switch (action.pass) {
    case Pass::forward:
      if (part == 0) return {};
      return {{Product::output, part - 1, j}};
    case Pass::weight_gradient:
      return {{Product::gradient, part, j}};
    case Pass::backward:
    case Pass::input_gradient:
      break;
  }
  std::vector<Need> needs{{Product::output, part, j}};
  if (part + 1 < parts_of(plan)) needs.push_back({Product::gradient, part + 1, j});
  return needs;
}

Products::Products(const Plan& plan)
    : parts_(static_cast<std::size_t>(parts_of(plan))),
      micro_batches_(static_cast<std::size_t>(plan.micro_batches)),
      times_(2 * parts_ * micro_batches_, -1) {}

std::size_t Products::index(const Need& need) const {
  const auto kind = static_cast<std::size_t>(need.product);
  return (kind * parts_ + static_cast<std::size_t>(need.part)) * micro_batches_ +
         static_cast<std::size_t>(need.micro_batch);
}

void Products::give(const Plan& plan, int stage, const Action& action, double time) {
  if (action.pass == Pass::weight_gradient) return;
  const auto product = action.pass == Pass::forward ? Product::output : Product::gradient;
  times_[index({product, part_of(plan, stage, action), action.micro_batch})] = time;
}

std::vector<std::size_t> progress_of(const Plan& plan, const CarryOut& carry_out) {
  Products products(plan);
  std::vector<std::size_t> next(plan.actions.size(), 0);
  std::size_t carried_out = 0, before = 0;
  do {
    before = carried_out;
    for (int stage = 0; stage < plan.stages; ++stage) {
      const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
      for (std::size_t& place = next[static_cast<std::size_t>(stage)]; place < actions.size();
           ++place) {
        const Action& action = actions[place];
        const bool ready = std::ranges::all_of(
            needs_of(plan, stage, action), [&](const Need& need) { return products.made(need); });
        if (!ready) break;
        products.give(plan, stage, action, carry_out(stage, action, products));
        ++carried_out;
      }
    }
  } while (carried_out > before);
  return next;
}

}  // namespace lockstep::pipeline
