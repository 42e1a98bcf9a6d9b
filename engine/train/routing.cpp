#include "engine/train/routing.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::train {

std::optional<nn::Routing> routing_of_step(const nn::LayerMaker& layers, const TrainingRanks& ranks,
                                           Device& device) {
  std::optional<nn::Routing> mine = layers.take_routing();
  if (!mine || !device.has_numbers()) return std::nullopt;
  std::vector<double> numbers = mine->load;
  numbers.insert(numbers.end(), {mine->choices, mine->dropped, mine->aux_loss});
  const Tensor all = from_values(numbers, {std::ssize(numbers)}, DType::float64, device.host());
  ranks.trainers().all_reduce(all, ReduceOp::sum);
  // Ranks that compute a layer together have routed the same tokens. The balancing loss is one of
  // all tokens, and each rank that has some of them has told it.
  const double copies = ranks.sizes().tp;
  const auto summed = all.data<double>();
  std::ranges::transform(summed.first(mine->load.size()), mine->load.begin(),
                         [&](double sum) { return sum / copies; });
  const auto last = summed.last(3);
  mine->choices = last[0] / copies;
  mine->dropped = last[1] / copies;
  mine->aux_loss = last[2] / (copies * ranks.replicas().size());
  return mine;
}

}  // namespace lockstep::train
