#include "engine/parallel/expert/expert_layers.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {
namespace {

// "h.3.mlp" → 3
std::int64_t block_of(const std::string& layer) {
  std::int64_t block = 0;
  const char* const end = layer.data() + layer.size();
  const auto [at, error] =
      std::from_chars(layer.data() + std::min<std::size_t>(2, layer.size()), end, block);
  LOCKSTEP_CHECK(error == std::errc(), "a mixture of experts named ", layer,
                 "; expected h.NUMBER.mlp");
  return block;
}

}  // namespace

ExpertLayers::ExpertLayers(ExpertRanks ranks, std::shared_ptr<nn::LayerMaker> behind,
                           const ExpertModel& model)
    : MakerInFront(std::move(behind)),
      ranks_(ranks),
      model_(model),
      tally_(std::make_shared<Tally>()) {}

std::unique_ptr<nn::Module> ExpertLayers::mixture(const std::string& name, std::int64_t width,
                                                  std::int64_t hidden,
                                                  const nn::MixtureOptions& options,
                                                  const nn::Deviations& deviations,
                                                  const nn::Made& made) const {
  const std::int64_t ranks = ranks_.experts != nullptr ? ranks_.experts->size() : 1;
  const std::int64_t rank = ranks_.experts != nullptr ? ranks_.experts->rank() : 0;
  LOCKSTEP_CHECK(options.experts == model_.experts, name, " of ", options.experts,
                 " experts, by a maker for ", model_.experts);
  LOCKSTEP_CHECK(options.experts % ranks == 0, name, ": ", options.experts,
                 " experts do not divide among ", ranks,
                 " ranks; all have the same number of them");
  const std::int64_t own = options.experts / ranks;
  std::vector<std::unique_ptr<nn::Module>> experts;
  for (std::int64_t e = rank * own; e < (rank + 1) * own; ++e) {
    experts.push_back(
        inner().feed_forward(nn::name_of_expert(name, e), width, hidden, deviations, made));
  }
  return std::make_unique<nn::Mixture>(
      name, width, options, deviations.weights, std::move(experts), made,
      make_mix({name, options, model_.hot, model_.parts}, ranks_, tally_));
}

nn::Holding ExpertLayers::holding_of(const Parameter& parameter) const {
  nn::Holding held = inner().holding_of(parameter);
  const bool of_expert = parameter.name.find(".experts.") != std::string::npos;
  if (of_expert && ranks_.experts != nullptr) held.kind = nn::Holding::Kind::expert;
  return held;
}

std::optional<nn::Routing> ExpertLayers::take_routing() const {
  nn::Routing all;
  all.experts = model_.experts;
  all.load.resize(static_cast<std::size_t>(model_.blocks * model_.experts));
  const Tally taken = std::exchange(*tally_, {});
  for (const auto& [name, layer] : taken.layers) {
    std::ranges::copy(layer.load, all.load.begin() + block_of(name) * all.experts);
    all.choices += layer.choices;
    all.dropped += layer.dropped;
    all.aux_loss += layer.aux_loss;
  }
  return all;
}

}  // namespace lockstep::expert_parallel
