// Pairs of a negated probability and a token are sorted, by expert: of equal probabilities, the
// smaller token comes first by itself.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/expert_choice.hpp"

namespace lockstep::expert_parallel {

SlotPlan expert_choice(const Tensor& logits, double capacity_factor) {
  LOCKSTEP_CHECK(logits.shape().size() == 2, "logits of another shape");
  LOCKSTEP_CHECK(std::isfinite(capacity_factor) && capacity_factor > 0, "no such factor");
  const std::int64_t tokens = logits.size(0), experts = logits.size(1);
  LOCKSTEP_CHECK(experts > 0, "no experts");
  std::vector<std::vector<std::pair<double, std::int64_t>>> columns(
      static_cast<std::size_t>(experts));
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::vector<double> row;
    for (std::int64_t e = 0; e < experts; ++e) row.push_back(logits.item(token * experts + e));
    const double most = *std::ranges::max_element(row);
    double sum = 0;
    for (double& one : row) {
      if (!std::isfinite(one)) throw Error(text("a logit of token ", token, " is ", one));
      one = std::exp(one - most);
      sum += one;
    }
    for (std::size_t e = 0; e < row.size(); ++e) columns[e].emplace_back(-row[e] / sum, token);
  }
  const double share = capacity_factor * static_cast<double>(tokens) / static_cast<double>(experts);
  const bool all = share >= static_cast<double>(tokens);
  SlotPlan plan{tokens, experts, all ? tokens : rounded_up(share), {}};
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    auto& column = columns[static_cast<std::size_t>(expert)];
    std::ranges::sort(column);
    column.resize(static_cast<std::size_t>(plan.capacity));
    for (const auto& [negated, token] : column) plan.placed.push_back({token, expert, 0, -negated});
  }
  return plan;
}

}  // namespace lockstep::expert_parallel
