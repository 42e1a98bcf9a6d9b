// Ranks that share experts, under the strategies on top of them: where they stand, what an
// evaluation says, what a step tells of its routers, and what its messages cost.
//   N ranks share E experts; T tokens of a sample, C width, K choices
#include <array>
#include <memory>

#include "engine/data/text.hpp"
#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using expert_parallel::ExpertLayers;
using expert_parallel::ExpertRanks;
using mesh::Axis;

namespace {

constexpr std::int64_t tokens = 8, width = 16, layers = 2, samples = 11;
const nn::MixtureOptions mixture{.experts = 4, .top_k = 2, .aux_loss = 0.05};

train::Recipe recipe_for(const train::TrainingRanks& ranks,
                         const expert_parallel::MixParts& parts = {}) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = layers, .width = width, .heads = 4, .sequence = tokens};
  recipe.model.gpt.mixture = mixture;
  recipe.model.dtype = DType::float64;
  recipe.model.layers = std::make_shared<ExpertLayers>(
      ExpertRanks{.experts = ranks.experts(), .tokens = &ranks.replicas()},
      std::make_shared<nn::LayerMaker>(),
      expert_parallel::ExpertModel{.blocks = layers, .experts = mixture.experts, .parts = parts});
  return recipe;
}

std::unique_ptr<data::Dataset> some_text() {
  const std::string text =
      "a row of words, of which every eighth begins a sample that has eight of them; and on";
  return data::make_text(text, *data::make_byte_tokenizer(), tokens, 7);
}

}  // namespace

TEST_CASE("expert strategies: ranks of ep read other shares, and hold other experts") {
  test::on_fibers(8, [](comm::ProcessGroup& world) {
    const train::TrainingRanks ranks(world, {.tp = 2, .ep = 2, .dp = 2});
    const int ep = world.rank() / 2 % 2, dp = world.rank() / 4;
    CHECK(ranks.replicas().size() == 4);
    CHECK(ranks.readers().size() == 2);
    CHECK(ranks.holders().size() == 2);
    CHECK(ranks.holders().rank() == dp);
    CHECK(ranks.experts()->size() == 2);
    CHECK(ranks.experts()->rank() == ep);
    CHECK(ranks.share() == 2 * dp + ep);
    CHECK(ranks.shares() == 4);
    const mesh::GradientKind whole{.copies = {Axis::tp, Axis::cp, Axis::ep, Axis::dp}};
    CHECK(ranks.counts_in_norm(whole) == (world.rank() % 4 == 0));
    CHECK(ranks.counts_in_norm({.copies = {Axis::cp, Axis::dp}}));
  });
}

TEST_CASE("expert strategies: an evaluation is one rank's, in sums") {
  CpuDevice host;
  train::Evaluation alone;
  const auto dataset = some_text();
  REQUIRE(dataset->size() == samples);
  test::on_fibers(1, [&](comm::ProcessGroup& world) {
    const train::TrainingRanks ranks(world);
    alone = train::make_ddp_or_plain(ranks, host, recipe_for(ranks), {})->evaluate(*dataset);
  });
  for (const int stages : {1, 2}) {
    test::on_fibers(4 * stages, [&](comm::ProcessGroup& world) {
      CpuDevice device;
      const train::TrainingRanks ranks(world, {.ep = 2, .dp = 2, .pp = stages});
      const train::Recipe recipe = recipe_for(ranks);
      const auto strategy = stages == 1 ? train::make_ddp_or_plain(ranks, device, recipe, {})
                                        : train::make_pipeline(ranks, device, recipe, 0,
                                                               {.stages = 2, .micro_batches = 2});
      const train::Evaluation seen = strategy->evaluate(*dataset);
      CAPTURE(stages, world.rank());
      CHECK(std::abs(seen.loss - alone.loss) <= 1e-12 * alone.loss);
      CHECK(std::abs(seen.accuracy - alone.accuracy) <= 1e-12);
    });
  }
}

TEST_CASE("expert strategies: a step tells what all routers did, and sends rows of choices alone") {
  CpuDevice host;
  const std::array all{std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}};
  nn::Routing alone;
  test::on_fibers(1, [&](comm::ProcessGroup& world) {
    const train::TrainingRanks ranks(world);
    const auto strategy = train::make_ddp_or_plain(ranks, host, recipe_for(ranks), {});
    const std::array batches{some_text()->batch(all, DType::float64, host)};
    strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
    alone = *strategy->cost().routing;
  });
  CHECK(alone.choices == layers * 4 * tokens * 2);
  CHECK(alone.aux_loss > 0.9 * layers * mixture.aux_loss);
  test::on_fibers(2, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const train::TrainingRanks ranks(world, {.ep = 2, .dp = 1});
    std::int64_t elsewhere = 0;
    expert_parallel::MixParts parts;
    parts.route = [&](const Tensor& logits, std::int64_t k) {
      const auto routes = expert_parallel::route(logits, k);
      for (const auto& route : routes) elsewhere += route.expert / 2 != world.rank() ? 1 : 0;
      return routes;
    };
    const auto strategy = train::make_ddp_or_plain(ranks, device, recipe_for(ranks, parts), {});
    const std::array mine{all[static_cast<std::size_t>(world.rank())],
                          all[static_cast<std::size_t>(world.rank() + 2)]};
    const std::array batches{some_text()->batch(mine, DType::float64, device)};
    const std::int64_t before = ranks.bytes_sent_in_layers();
    strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
    const std::int64_t sent = ranks.bytes_sent_in_layers() - before;
    const nn::Routing told = *strategy->cost().routing;
    CHECK(told.load == alone.load);
    CHECK(told.choices == alone.choices);
    CHECK(told.dropped == 0);
    CHECK(std::abs(told.aux_loss - alone.aux_loss) <= 1e-12);
    const Tensor sums =
        from_values(std::array{static_cast<double>(sent), static_cast<double>(elsewhere)}, {2},
                    DType::float64, host);
    world.all_reduce(sums, ReduceOp::sum);
    // Forward and backward, there and back; and in each layer two counts from each rank.
    CHECK(sums.item(0) == 2 * 2 * width * sums.item(1) * 8 + layers * 2 * 2 * 8);
    CHECK(strategy->cost().communication.total_s > 0);
  });
}
