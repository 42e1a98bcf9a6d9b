#include "engine/train/ways/expert.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/units.hpp"
#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

using expert_parallel::ExpertLayers;
using expert_parallel::ExpertRanks;

int ranks_of(const Arguments& arguments) { return static_cast<int>(arguments.integer("ep", 1)); }

void check_sizes(std::int64_t experts, std::int64_t ranks) {
  if (experts % ranks == 0) return;
  std::int64_t below = std::min(ranks, experts);
  while (experts % below != 0) --below;
  throw UsageError(text("--ep ", ranks, " does not divide --experts ", experts,
                        ": all ranks have the same number of experts; pass --ep ", below,
                        ", or --experts ", (experts + ranks - 1) / ranks * ranks));
}

class ExpertMaker final : public WayMaker {
 public:
  Layers make_layers(Making& making, Layers inner) const override {
    const nn::ModelSpec& model = making.recipe.model;
    check(making.arguments, model, 0);
    return layers(making.arguments, model,
                  {.experts = making.ranks().experts(), .tokens = &making.ranks().replicas()},
                  std::move(inner));
  }

  Layers make_layers(const Arguments& arguments, const nn::ModelSpec& model,
                     comm::ProcessGroup& group, Layers inner) const override {
    check(arguments, model, 0);
    ExpertRanks ranks;
    if (group.size() > 1) ranks.experts = &group;
    return layers(arguments, model, ranks, std::move(inner));
  }

  void check(const Arguments& arguments, const nn::ModelSpec& model, int) const override {
    check_sizes(model.gpt.mixture.experts, ranks_of(arguments));
    if (arguments.number("hot", 1) > static_cast<double>(model.gpt.mixture.experts)) {
      throw UsageError(text("--hot ", arguments.get("hot"), " is more than all tokens: of ",
                            counted(model.gpt.mixture.experts, "expert"), ", one has at most ",
                            model.gpt.mixture.experts, " times its share"));
    }
  }

 private:
  static Layers layers(const Arguments& arguments, const nn::ModelSpec& model,
                       const ExpertRanks& ranks, Layers inner) {
    if (inner == nullptr) inner = std::make_shared<nn::LayerMaker>();
    return std::make_shared<ExpertLayers>(
        ranks, std::move(inner),
        expert_parallel::ExpertModel{.blocks = model.gpt.layers,
                                     .experts = model.gpt.mixture.experts,
                                     .hot = arguments.number("hot", 1)});
  }
};

}  // namespace

const WayMaker& expert_maker() {
  static const ExpertMaker maker;
  return maker;
}

}  // namespace lockstep::train
