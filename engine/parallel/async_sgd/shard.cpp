#include "engine/parallel/async_sgd/shard.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::async_sgd {

std::vector<std::vector<std::size_t>> assign_shards(std::span<const std::int64_t> counts,
                                                    int servers) {
  LOCKSTEP_CHECK(servers >= 1, "assign_shards: ", servers, " servers; there is one at least");
  std::vector<std::size_t> largest_first(counts.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  std::ranges::stable_sort(largest_first,
                           [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  std::vector<std::vector<std::size_t>> shards(static_cast<std::size_t>(servers));
  std::vector<std::int64_t> held(shards.size());
  for (const std::size_t tensor : largest_first) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(held) - held.begin());
    held[least] += counts[tensor];
    shards[least].push_back(tensor);
  }
  for (auto& shard : shards) std::ranges::sort(shard);
  return shards;
}

bool is_state_of(const std::string& name, const Parameter& parameter) {
  return name.starts_with(parameter.name + ".") &&
         name.find('.', parameter.name.size() + 1) == std::string::npos;
}

Shard::Shard(std::span<Parameter* const> model, std::span<const std::size_t> places,
             const optim::OptimizerSpec& optimizer) {
  std::int64_t count = 0;
  for (const std::size_t place : places) count += model[place]->value.numel();
  const Tensor& like = model.front()->value;
  flat_ = empty({count}, like.dtype(), like.device(), MemoryKind::parameters);
  std::int64_t start = 0;
  std::vector<Parameter*> pointers;
  for (const std::size_t place : places) {
    const Parameter& whole = *model[place];
    const Tensor part = flat_.narrow(start, whole.value.numel());
    part.copy_(whole.value);
    start += part.numel();
    parameters_.push_back({whole.name, part.view(whole.value.shape()), {}, {}});
    pointers.push_back(&parameters_.back());
  }
  optimizer_ = optim::make_optimizer(optimizer, std::move(pointers));
}

void Shard::load(std::span<Parameter* const> model, std::span<const std::size_t> places,
                 const optim::Optimizer& whole) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    parameters_[i].value.copy_(model[places[i]]->value);
  }
  std::vector<optim::StateTensor> mine;
  for (optim::StateTensor& piece : whole.state()) {
    const bool is_mine = std::ranges::any_of(
        parameters_, [&](const Parameter& p) { return is_state_of(piece.name, p); });
    if (is_mine) mine.push_back(std::move(piece));
  }
  optimizer_->load_state(mine);
}

void Shard::update(const Tensor& gradient, double rate) {
  std::int64_t start = 0;
  for (Parameter& parameter : parameters_) {
    const std::int64_t count = parameter.value.numel();
    parameter.grad = gradient.narrow(start, count).view(parameter.value.shape());
    start += count;
  }
  optimizer_->set_learning_rate(rate);
  optimizer_->step();
  for (Parameter& parameter : parameters_) parameter.grad = {};
}

std::vector<Tensor> Shard::state() const {
  std::vector<Tensor> all;
  for (const optim::StateTensor& piece : optimizer_->state()) all.push_back(piece.value);
  return all;
}

}  // namespace lockstep::async_sgd
