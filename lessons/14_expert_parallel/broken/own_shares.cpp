// Wrong on purpose: each rank balances its own tokens, with its own counts, and nothing is summed
// over the ranks.
#include <cstddef>
#include <vector>

#include "engine/parallel/expert/load_balancing_loss.hpp"

namespace lockstep::expert_parallel {

BalancingLoss load_balancing_loss(comm::ProcessGroup& /*group*/, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha) {
  const std::int64_t tokens = probabilities.size(0), experts = probabilities.size(1);
  const auto count = static_cast<std::size_t>(experts);
  std::vector<double> chosen(count), shares(count), gradient;
  for (const std::int64_t expert : first_choices) chosen[static_cast<std::size_t>(expert)] += 1;
  for (std::size_t i = 0; i < count * first_choices.size(); ++i) {
    shares[i % count] += probabilities.item(static_cast<std::int64_t>(i));
  }
  const double all = static_cast<double>(tokens);
  const double scale = alpha * static_cast<double>(experts) / (all * all);
  BalancingLoss out;
  for (std::size_t e = 0; e < count; ++e) out.loss += scale * chosen[e] * shares[e];
  for (std::size_t i = 0; i < count * first_choices.size(); ++i) {
    gradient.push_back(scale * chosen[i % count]);
  }
  out.gradient = from_values(gradient, probabilities.shape(), probabilities.dtype(),
                             probabilities.device(), MemoryKind::activations);
  return out;
}

}  // namespace lockstep::expert_parallel
