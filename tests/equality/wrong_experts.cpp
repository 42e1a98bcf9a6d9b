#include "tests/equality/wrong_experts.hpp"

#include <map>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::test {
namespace {

using namespace expert_parallel;
using Counts = std::vector<std::int64_t>;

BalancingLoss balance_of_local_f(comm::ProcessGroup& group, const Tensor& probabilities,
                                 std::span<const std::int64_t> first_choices, double alpha) {
  const auto alone = comm::make_solo_group();
  BalancingLoss mine = load_balancing_loss(*alone, probabilities, first_choices, alpha);
  mine.gradient.scale_(1.0 / group.size());
  return mine;
}

SlotPlan renormalised(std::span<const Route> routes, std::int64_t experts, double factor) {
  SlotPlan plan = assign_slots(routes, experts, factor);
  std::map<std::int64_t, double> sums;
  for (const Route& place : plan.placed) sums[place.token] += place.weight;
  for (Route& place : plan.placed) {
    if (const double sum = sums[place.token]; sum > 0) place.weight /= sum;
  }
  return plan;
}

// The same values on the way there, and gradients `factor` times as large on the way back.
Value scaled_back(Tape& tape, const Value& x, double factor) {
  return tape.record(x.tensor, {x}, [factor](const Tensor& grad) {
    const Tensor scaled = grad.clone(MemoryKind::activations);
    scaled.scale_(factor);
    return std::vector<Tensor>{scaled};
  });
}

Value with_gradients_by_dp(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine) {
  const double ranks = group.size();
  const Experts scaled = [&mine, ranks](Tape& on, const Value& rows,
                                        std::span<const std::int64_t> of) {
    return scaled_back(on, mine(on, scaled_back(on, rows, 1 / ranks), of), ranks);
  };
  return dispatch_and_combine(tape, group, plan, tokens, weights, scaled);
}

// Two ranks at least. As the part, but row i of what the experts made is taken for row i of those
// that came.
Value not_unpermuted(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                     const Value& tokens, const Value& weights, const Experts& mine) {
  // By rank, then by expert, as rows come; the experts get them by expert.
  const Experts moved = [&](Tape& on, const Value& rows, std::span<const std::int64_t> of_experts) {
    const Value done = mine(on, rows, of_experts);
    CpuDevice host;
    const Tensor sent = zeros({plan.experts}, DType::int64, host);
    for (const Route& place : plan.placed) {
      sent.data<std::int64_t>()[static_cast<std::size_t>(place.expert)] += 1;
    }
    const Tensor came = zeros({plan.experts}, DType::int64, host);
    group.all_to_all(sent, came);
    // The part takes row by_rank[i] of this for row i of what came. Undo that beforehand.
    const auto own = static_cast<std::size_t>(std::ssize(of_experts));
    const auto counts = came.data<std::int64_t>();
    Counts by_expert;
    for (std::size_t expert = 0; expert < own; ++expert) {
      std::int64_t row = 0;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        for (std::int64_t n = 0; i % own == expert && n < counts[i]; ++n) {
          by_expert.push_back(row + n);
        }
        row += counts[i];
      }
    }
    return take_rows(on, done, by_expert);
  };
  return dispatch_and_combine(tape, group, plan, tokens, weights, moved);
}

// The tokens of a rank, by their numbers among all of them.
Counts tokens_of(int rank, int ranks, std::int64_t tokens, std::int64_t sequence) {
  Counts mine;
  for (std::int64_t token = 0; token < tokens; ++token) {
    if (token / sequence % ranks == rank) mine.push_back(token);
  }
  return mine;
}

// One plan of the ranks' plans, whose tokens are numbered by `of_ranks`.
SlotPlan joined(const std::vector<SlotPlan>& plans, const std::vector<Counts>& of_ranks) {
  SlotPlan all = plans.front();
  all.placed.clear();
  all.tokens = 0;
  for (const Counts& mine : of_ranks) all.tokens += std::ssize(mine);
  for (std::int64_t expert = 0; expert < all.experts; ++expert) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      for (Route place : plans[rank].placed) {
        if (place.expert != expert) continue;
        place.token = of_ranks[rank][static_cast<std::size_t>(place.token)];
        all.placed.push_back(place);
      }
    }
  }
  return all;
}

}  // namespace

MixParts wrong_parts(ExpertFault fault, int ranks) {
  MixParts parts;
  if (fault == ExpertFault::local_f) parts.balance = balance_of_local_f;
  if (fault == ExpertFault::renormalised) parts.assign_slots = renormalised;
  if (ranks == 1) return parts;
  if (fault == ExpertFault::not_unpermuted) parts.dispatch = not_unpermuted;
  if (fault == ExpertFault::divided_by_dp) parts.dispatch = with_gradients_by_dp;
  return parts;
}

MixParts parts_by_rank(int ranks, std::int64_t sequence) {
  MixParts parts;
  parts.assign_slots = [=](std::span<const Route> routes, std::int64_t experts, double factor) {
    const std::int64_t tokens = routes.back().token + 1;
    const std::int64_t k = std::ssize(routes) / tokens;
    std::vector<Counts> of_ranks;
    std::vector<SlotPlan> plans;
    for (int rank = 0; rank < ranks; ++rank) {
      of_ranks.push_back(tokens_of(rank, ranks, tokens, sequence));
      std::vector<Route> mine;
      for (std::size_t i = 0; i < of_ranks.back().size(); ++i) {
        for (std::int64_t c = 0; c < k; ++c) {
          mine.push_back(routes[static_cast<std::size_t>(of_ranks.back()[i] * k + c)]);
          mine.back().token = static_cast<std::int64_t>(i);
        }
      }
      plans.push_back(assign_slots(mine, experts, factor));
    }
    return joined(plans, of_ranks);
  };
  parts.expert_choice = [=](const Tensor& logits, double factor) {
    const std::int64_t tokens = logits.size(0), experts = logits.size(1);
    std::vector<Counts> of_ranks;
    std::vector<SlotPlan> plans;
    for (int rank = 0; rank < ranks; ++rank) {
      of_ranks.push_back(tokens_of(rank, ranks, tokens, sequence));
      std::vector<double> mine;
      for (const std::int64_t token : of_ranks.back()) {
        for (std::int64_t e = 0; e < experts; ++e) mine.push_back(logits.item(token * experts + e));
      }
      const Shape shape{std::ssize(of_ranks.back()), experts};
      plans.push_back(
          expert_choice(from_values(mine, shape, logits.dtype(), logits.device()), factor));
    }
    return joined(plans, of_ranks);
  };
  return parts;
}

}  // namespace lockstep::test
