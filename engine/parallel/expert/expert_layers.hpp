// Makes the layers of a transformer whose blocks have a mixture of experts. It stands in front of
// another maker, which makes all other layers and each expert; so where that one splits layers,
// experts are split, too. Ranks that share experts have E/N of them each, whole or split, and all
// else alike.
//   N ranks of a group share E experts; rank r has r·E/N … (r+1)·E/N
// Source: [LLX20] §3; [MEGATRON]'s expert parallelism, but see docs/decisions for its place among
// the axes
#pragma once

#include <memory>
#include <string>

#include "engine/nn/layer_maker.hpp"
#include "engine/parallel/expert/mix.hpp"

namespace lockstep::expert_parallel {

// The model that the layers are of.
struct ExpertModel {
  std::int64_t blocks = 0;   // L
  std::int64_t experts = 0;  // E
  double hot = 1;            // as MixOptions, and so are these
  MixParts parts{};
};

class ExpertLayers : public nn::MakerInFront {
 public:
  //   ranks   must outlive the layers that are made
  //   behind  makes the other layers, and each expert as a feed-forward network
  ExpertLayers(ExpertRanks ranks, std::shared_ptr<nn::LayerMaker> behind, const ExpertModel& model);

  //   Throws  ContractError when N does not divide E
  std::unique_ptr<nn::Module> mixture(const std::string& name, std::int64_t width,
                                      std::int64_t hidden, const nn::MixtureOptions& options,
                                      const nn::Deviations& deviations,
                                      const nn::Made& made) const override;
  nn::Holding holding_of(const Parameter& parameter) const override;
  std::optional<nn::Routing> take_routing() const override;

 private:
  ExpertRanks ranks_;
  ExpertModel model_;
  std::shared_ptr<Tally> tally_;  // of all layers that this maker has made
};

}  // namespace lockstep::expert_parallel
