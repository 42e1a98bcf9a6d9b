#include "engine/parallel/expert/mix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::expert_parallel {
namespace {

using Counts = std::vector<std::int64_t>;

// The plan of a layer's tokens.
struct Plan {
  std::vector<Route> routes;  // by token and choice; none where experts choose
  SlotPlan slots;
};

// Choices as even as `hot` lets them be: expert 0 gets `hot` times its share, others the rest.
std::vector<Route> dealt(std::int64_t tokens, const MixOptions& options) {
  const auto [experts, k] = std::pair(options.mixture.experts, options.mixture.top_k);
  const std::int64_t all = tokens * k;
  const double share = static_cast<double>(all) / static_cast<double>(experts) * options.hot;
  const std::int64_t hottest = std::min(all, static_cast<std::int64_t>(std::llround(share)));
  std::vector<Route> routes;
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t expert = experts == 1 || i < hottest ? 0 : 1 + (i - hottest) % (experts - 1);
    routes.push_back({i / k, expert, i % k, 1.0 / static_cast<double>(k)});
  }
  return routes;
}

void check_finite(const std::string& layer, const Tensor& logits) {
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    if (std::isfinite(logits.item(i))) continue;
    const std::int64_t experts = logits.size(1);
    throw Error(text(layer, ": the router's logit of token ", i / experts, " for expert ",
                     i % experts, " is ", std::isnan(logits.item(i)) ? "nan" : "infinite",
                     "; the training has diverged: pass a smaller --lr, a --warmup or --clip 1"));
  }
}

Plan plan_of(const Tensor& logits, const MixOptions& options) {
  const nn::MixtureOptions& mixture = options.mixture;
  const bool numbers = logits.device().has_numbers();
  const Tensor seen = numbers ? to_host(logits) : Tensor();
  if (numbers) check_finite(options.name, seen);
  if (numbers && mixture.router == nn::Router::experts) {
    const double most = static_cast<double>(mixture.experts);  // more cannot be chosen
    return {{}, options.parts.expert_choice(seen, std::min(mixture.capacity, most))};
  }
  Plan plan;
  plan.routes = numbers ? options.parts.route(seen, mixture.top_k) : dealt(logits.size(0), options);
  plan.slots = options.parts.assign_slots(plan.routes, mixture.experts, mixture.capacity);
  return plan;
}

Value column_of(Tape& tape, const Value& x) {
  return autograd::view(tape, x, {x.tensor.numel(), 1});
}

// The plan's weights, with the derivative of the softmax that they come from: over all experts, or
// over those that a token has chosen.
Value weights_of(Tape& tape, const Value& logits, const Plan& plan, std::int64_t k) {
  const std::int64_t experts = logits.tensor.size(1);
  Counts numbers;
  Value shares;
  if (k == 1 || plan.routes.empty()) {
    shares = column_of(tape, autograd::softmax(tape, logits));
    for (const Route& place : plan.slots.placed) {
      numbers.push_back(place.token * experts + place.expert);
    }
  } else {
    Counts chosen;
    for (const Route& route : plan.routes) chosen.push_back(route.token * experts + route.expert);
    const Value of_chosen = take_rows(tape, column_of(tape, logits), chosen);
    const Value rows = autograd::view(tape, of_chosen, {logits.tensor.size(0), k});
    shares = column_of(tape, autograd::softmax(tape, rows));
    for (const Route& place : plan.slots.placed) numbers.push_back(place.token * k + place.choice);
  }
  Value weights = take_rows(tape, shares, numbers);
  weights.tensor =
      written_by_host({std::ssize(numbers), 1}, logits.tensor.dtype(), logits.tensor.device(),
                      MemoryKind::activations, [&](const Tensor& to) {
                        std::vector<double> all;
                        for (const Route& place : plan.slots.placed) all.push_back(place.weight);
                        to.copy_(from_values(all, to.shape(), to.dtype(), to.device()));
                      });
  return weights;
}

// Rows [R, C], sorted by expert, through their experts. An expert without rows takes part, so that
// each parameter has a gradient in each pass.
Value computed(Tape& tape, const Value& rows, std::span<const std::int64_t> of_experts,
               std::span<const std::unique_ptr<nn::Module>> experts) {
  std::vector<Value> parts;
  std::int64_t first = 0;
  for (std::size_t e = 0; e < experts.size(); ++e) {
    const Value mine = autograd::narrow(tape, rows, 0, first, of_experts[e]);
    parts.push_back(experts[e]->forward(tape, mine));
    first += of_experts[e];
  }
  return autograd::concatenate(tape, parts, 0);
}

// The layer on a rank that has all experts.
Value combined_here(Tape& tape, const SlotPlan& slots, const Value& tokens, const Value& weights,
                    const Experts& mine) {
  Counts taken, of_experts(static_cast<std::size_t>(slots.experts));
  for (const Route& place : slots.placed) {
    taken.push_back(place.token);
    ++of_experts[static_cast<std::size_t>(place.expert)];
  }
  const Value done = mine(tape, take_rows(tape, tokens, taken), of_experts);
  return add_rows(tape, autograd::multiply(tape, done, weights), taken, slots.tokens);
}

class Layer {
 public:
  Layer(MixOptions options, ExpertRanks ranks, std::shared_ptr<Tally> tally)
      : options_(std::move(options)),
        ranks_(ranks),
        alone_(comm::make_solo_group()),
        tally_(std::move(tally)) {}

  Value operator()(Tape& tape, const Value& tokens, nn::Linear& router,
                   std::span<const std::unique_ptr<nn::Module>> experts,
                   const nn::Occasion& occasion) const {
    const Value logits = router.forward(tape, tokens);  // [T, E]
    const Plan plan = plan_of(logits.tensor, options_);
    const Value weights = weights_of(tape, logits, plan, options_.mixture.top_k);
    const Experts mine = [experts](Tape& on, const Value& rows,
                                   std::span<const std::int64_t> of_experts) {
      return computed(on, rows, of_experts, experts);
    };
    Value mixed =
        ranks_.experts != nullptr
            ? options_.parts.dispatch(tape, *ranks_.experts, plan.slots, tokens, weights, mine)
            : combined_here(tape, plan.slots, tokens, weights, mine);
    if (tape.mode() == GradMode::inference) return mixed;
    count(plan);
    const bool balances = options_.mixture.aux_loss > 0 && !plan.routes.empty();
    return balances ? balanced(tape, mixed, logits, plan, occasion) : mixed;
  }

 private:
  Tally::OfLayer& told() const { return tally_->layers[options_.name]; }

  void count(const Plan& plan) const {
    Tally::OfLayer& of_layer = told();
    of_layer.load.resize(static_cast<std::size_t>(options_.mixture.experts));
    const bool tokens_choose = !plan.routes.empty();
    for (const Route& route : tokens_choose ? plan.routes : plan.slots.placed) {
      of_layer.load[static_cast<std::size_t>(route.expert)] += 1;
    }
    if (tokens_choose) {
      of_layer.choices += static_cast<double>(plan.routes.size());
      of_layer.dropped += static_cast<double>(plan.routes.size() - plan.slots.placed.size());
      return;
    }
    std::vector<bool> taken(static_cast<std::size_t>(plan.slots.tokens));
    for (const Route& place : plan.slots.placed)
      taken[static_cast<std::size_t>(place.token)] = true;
    of_layer.choices += static_cast<double>(taken.size());
    of_layer.dropped += static_cast<double>(std::ranges::count(taken, false));
  }

  // Gives `mixed` back, and the probabilities the gradient of the balancing loss on the way back
  // ([MEGATRON]'s MoEAuxLossAutoScaler). Gradients become means over the ranks that have tokens,
  // but this loss is one of all of them, so each rank's share of its gradient counts N times.
  Value balanced(Tape& tape, const Value& mixed, const Value& logits, const Plan& plan,
                 const nn::Occasion& occasion) const {
    comm::ProcessGroup& group = ranks_.tokens != nullptr ? *ranks_.tokens : *alone_;
    const Value shares = autograd::softmax(tape, logits);
    Tensor gradient;
    if (logits.tensor.device().has_numbers()) {
      Counts first;
      for (const Route& route : plan.routes) {
        if (route.choice == 0) first.push_back(route.expert);
      }
      const BalancingLoss balance =
          options_.parts.balance(group, to_host(shares.tensor), first, options_.mixture.aux_loss);
      told().aux_loss += occasion.weight * balance.loss;
      balance.gradient.scale_(occasion.weight * occasion.loss_scale * group.size());
      gradient = to_device(balance.gradient, logits.tensor.device());
    } else {
      const std::int64_t sums = 2 * options_.mixture.experts + 1;
      group.all_reduce(zeros({sums}, DType::float64, logits.tensor.device()), ReduceOp::sum);
      gradient = shares.tensor;
    }
    return tape.record(mixed.tensor, {mixed, shares}, [gradient](const Tensor& grad) {
      return std::vector<Tensor>{grad, gradient};
    });
  }

  MixOptions options_;
  ExpertRanks ranks_;
  std::shared_ptr<comm::ProcessGroup> alone_;
  std::shared_ptr<Tally> tally_;
};

}  // namespace

nn::Mix make_mix(MixOptions options, ExpertRanks ranks, std::shared_ptr<Tally> tally) {
  return Layer(std::move(options), ranks, std::move(tally));
}

}  // namespace lockstep::expert_parallel
