// Task: the loss that keeps experts equally busy, over the tokens of all ranks, and its gradient.
// The contract is in engine/parallel/expert/load_balancing_loss.hpp.
#include "engine/parallel/expert/load_balancing_loss.hpp"

#include <cstddef>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {

BalancingLoss load_balancing_loss(comm::ProcessGroup& group, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha) {
  LOCKSTEP_CHECK(
      probabilities.shape().size() == 2 && probabilities.size(0) == std::ssize(first_choices),
      "load_balancing_loss: probabilities of shape ", text_of(probabilities.shape()),
      " and first choices of ", first_choices.size(), " tokens; expected [", first_choices.size(),
      ", experts]");
  const std::int64_t experts = probabilities.size(1);
  for (const std::int64_t expert : first_choices) {
    LOCKSTEP_CHECK(expert >= 0 && expert < experts,
                   "load_balancing_loss: a first choice is expert ", expert, " of ", experts,
                   "; experts count from 0");
  }
  // >>> your code
  const std::int64_t tokens = probabilities.size(0);
  const Tensor sums = zeros({2 * experts + 1}, DType::float64, probabilities.device().host());
  const auto counts = sums.data<double>().first(static_cast<std::size_t>(experts));
  const auto shares = sums.data<double>().subspan(static_cast<std::size_t>(experts),
                                                  static_cast<std::size_t>(experts));
  double& all = sums.data<double>().back();
  all = static_cast<double>(tokens);
  for (const std::int64_t expert : first_choices) counts[static_cast<std::size_t>(expert)] += 1;
  for (std::int64_t i = 0; i < probabilities.numel(); ++i) {
    shares[static_cast<std::size_t>(i % experts)] += probabilities.item(i);
  }
  group.all_reduce(sums, ReduceOp::sum);

  BalancingLoss out;
  const double scale = alpha * static_cast<double>(experts);
  std::vector<double> slopes;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    out.loss += scale * (counts[e] / all) * (shares[e] / all);
    slopes.push_back(scale * (counts[e] / all) / all);
  }
  std::vector<double> gradient;
  for (std::int64_t token = 0; token < tokens; ++token) {
    gradient.insert(gradient.end(), slopes.begin(), slopes.end());
  }
  out.gradient = from_values(gradient, probabilities.shape(), probabilities.dtype(),
                             probabilities.device(), MemoryKind::activations);
  return out;
  // <<< your code
}

}  // namespace lockstep::expert_parallel
