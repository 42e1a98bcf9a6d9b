#include "grader/parts/13_pipeline_parallel/split_model/layers.hpp"

#include <algorithm>

namespace lockstep::grader::split_model {

LayerService::LayerService(Members members, std::vector<int> device_of_layer, Chain chain)
    : members_(std::move(members)),
      device_of_layer_(std::move(device_of_layer)),
      chain_(std::move(chain)),
      passes_(static_cast<std::size_t>(members_.size())),
      free_s_(passes_.size()) {
  const std::vector<double> nothing(static_cast<std::size_t>(chain_width) * chain_width);
  gradients_.assign(device_of_layer_.size(), nothing);
}

std::optional<sim::Service::Answer> LayerService::answer(const sim::Actor& who, LayerCall call,
                                                         double now) {
  const bool known = members_.contain(who.rank) && call.layer >= 0 &&
                     std::cmp_less(call.layer, device_of_layer_.size());
  const auto layer = static_cast<std::size_t>(call.layer);
  if (!known || device_of_layer_[layer] != members_.group_rank(who.rank) ||
      call.numbers.size() != chain_.inputs.front().size()) {
    throw Error("there is no such layer on this device, or it was given other numbers");
  }
  if (call.back != 0 && !inputs_.contains(call.layer)) throw Error("backward before forward");
  const auto device = static_cast<std::size_t>(device_of_layer_[layer]);
  double& free_s = free_s_[device];
  free_s = std::max(free_s, now) + (call.back != 0 ? 2 : 1) * forward_s;
  passes_[device].push_back(call.back != 0 ? -(call.layer + 1) : call.layer + 1);
  const auto& matrix = chain_.matrices[layer];
  if (call.back == 0) {
    const auto made = times(call.numbers, matrix, chain_width);
    inputs_[call.layer] = std::move(call.numbers);
    return answer_with(LayerAnswer{made}, free_s);
  }
  add_product(gradients_[layer], inputs_[call.layer], call.numbers);
  return answer_with(LayerAnswer{times(call.numbers, transposed(matrix, chain_width), chain_width)},
                     free_s);
}

}  // namespace lockstep::grader::split_model
