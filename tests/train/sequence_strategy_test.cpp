// Ranks that share each sequence, under the strategies on top of them: where they stand, what an
// evaluation says, and what their messages cost.
//   N ranks of a sequence, B samples, T tokens, C width
#include <array>
#include <memory>
#include <numeric>

#include "engine/data/text.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/way_maker.hpp"
#include "engine/train/ways/sequence.hpp"
#include "engine/train/ways/tensor.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

namespace lockstep::train {
const WayMaker& sequence_maker();
}

using namespace lockstep;
using mesh::Axis;
using sequence_parallel::ContextKind;

namespace {

constexpr std::int64_t tokens = 9, width = 16, layers = 2, samples = 11;

train::Recipe recipe_for(const train::TrainingRanks& ranks, ContextKind kind) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = layers, .width = width, .heads = 4, .sequence = tokens};
  recipe.model.dtype = DType::float64;
  if (ranks.sequence() != nullptr) {
    recipe.model.layers = std::make_shared<sequence_parallel::ContextLayers>(
        *ranks.sequence(), kind, tokens, std::make_shared<nn::LayerMaker>());
  }
  return recipe;
}

std::unique_ptr<data::Dataset> some_text() {
  const std::string text =
      "a row of words, of which every ninth begins a sample that has nine of them; and more";
  return data::make_text(text, *data::make_byte_tokenizer(), tokens, 7);
}

enum class Way : std::uint8_t { replicas, full_shard, stages };

std::unique_ptr<train::Strategy> made(Way way, const train::TrainingRanks& ranks, Device& device,
                                      const train::Recipe& recipe) {
  if (way == Way::full_shard) {
    return train::make_zero(
        ranks, device, recipe, 0,
        {{zero::Sharding::full_shard, 1, zero::Cut::flat}, train::AccumulateIn::shards});
  }
  if (way == Way::stages) {
    return train::make_pipeline(ranks, device, recipe, 0, {.stages = 2, .micro_batches = 2});
  }
  return train::make_ddp_or_plain(ranks, device, recipe, {});
}

}  // namespace

TEST_CASE("sequence strategies: replicas are along cp and dp, and shares are dp's") {
  test::on_fibers(8, [](comm::ProcessGroup& world) {
    const train::TrainingRanks ranks(world, {.tp = 2, .cp = 2, .dp = 2});
    const int cp = world.rank() / 2 % 2, dp = world.rank() / 4;
    CHECK(ranks.replicas().size() == 4);
    CHECK(ranks.replicas().rank() == world.rank() / 2);
    CHECK(ranks.readers().size() == 2);
    CHECK(ranks.readers().rank() == dp);
    CHECK(ranks.sequence()->size() == 2);
    CHECK(ranks.sequence()->rank() == cp);
    CHECK(ranks.layer()->rank() == world.rank() % 2);
    CHECK(ranks.share() == dp);
    CHECK(ranks.shares() == 2);
    // Of what all ranks have whole, the first of a layer counts, on each rank of a sequence.
    const mesh::GradientKind whole{.copies = {Axis::tp, Axis::cp, Axis::ep, Axis::dp}};
    CHECK(ranks.counts_in_norm(whole) == (world.rank() % 2 == 0));
    CHECK(ranks.counts_in_norm({.copies = mesh::data_axes}));
  });
}

TEST_CASE("sequence strategies: an evaluation is one rank's, in sums") {
  CpuDevice host;
  train::Evaluation alone;
  const auto dataset = some_text();
  REQUIRE(dataset->size() == samples);
  test::on_fibers(1, [&](comm::ProcessGroup& world) {
    const train::TrainingRanks ranks(world);
    const auto strategy = made(Way::replicas, ranks, host, recipe_for(ranks, ContextKind::ring));
    alone = strategy->evaluate(*dataset);
  });
  for (const Way way : {Way::replicas, Way::full_shard, Way::stages}) {
    for (const auto kind : {ContextKind::ring, ContextKind::zigzag, ContextKind::ulysses}) {
      test::on_fibers(way == Way::stages ? 8 : 4, [&](comm::ProcessGroup& world) {
        CpuDevice device;
        const train::TrainingRanks ranks(world,
                                         {.cp = 2, .dp = 2, .pp = way == Way::stages ? 2 : 1});
        const auto strategy = made(way, ranks, device, recipe_for(ranks, kind));
        const train::Evaluation seen = strategy->evaluate(*dataset);
        CAPTURE(static_cast<int>(way), static_cast<int>(kind), world.rank());
        CHECK(std::abs(seen.loss - alone.loss) <= 1e-12 * alone.loss);
        CHECK(std::abs(seen.accuracy - alone.accuracy) <= 1e-12);
      });
    }
  }
}

TEST_CASE("sequence strategies: a step tells of the bytes and the time of its rings") {
  test::on_fibers(3, [](comm::ProcessGroup& world) {
    CpuDevice device;
    const train::TrainingRanks ranks(world, {.cp = 3, .dp = 1});
    const auto strategy = made(Way::replicas, ranks, device, recipe_for(ranks, ContextKind::ring));
    const std::array indices{std::int64_t{0}, std::int64_t{1}};
    const std::array batches{some_text()->batch(indices, DType::float64, device)};
    comm::ProcessGroup& ring = *ranks.sequence();
    const Tensor mine = zeros({1000}, DType::float64, device), theirs = mine.clone();
    comm::Work receiving = ring.irecv(theirs, (ring.rank() + 2) % 3);
    ring.send(mine, (ring.rank() + 1) % 3);
    receiving.wait();
    CHECK(ranks.take_layer_communication().total_s > 0);
    const std::int64_t before = ranks.bytes_sent_in_layers();
    strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
    // Two blocks of a third of T tokens, three times, in each layer.
    CHECK(ranks.bytes_sent_in_layers() - before ==
          layers * 3 * 2 * (2 * tokens / 3) * 2 * width * 8);
    CHECK(strategy->cost().bytes_sent > ranks.bytes_sent_in_layers() - before);
    const collectives::Communication seen = strategy->cost().communication;
    CHECK(seen.total_s > 0);
    CHECK(seen.exposed_s <= seen.total_s);
  });
}

TEST_CASE("sequence strategies: samples of another length are refused") {
  test::on_fibers(2, [](comm::ProcessGroup& world) {
    CpuDevice device;
    const train::TrainingRanks ranks(world, {.cp = 2, .dp = 1});
    const auto model = nn::make_model(recipe_for(ranks, ContextKind::ring).model, device, 1);
    Tape tape(GradMode::inference);
    const Value short_ones = tape.constant(zeros({1, tokens - 1}, DType::int64, device));
    CHECK_THROWS_WITH(model->forward(tape, short_ones),
                      test::contains("expected [batch, 9]") || test::contains("sequences of 9"));
  });
}

TEST_CASE("sequence strategies: what does not fit is told before a step, with what does") {
  const auto told = [](std::vector<const char*> words, std::int64_t length) {
    std::string message;
    test::on_fibers(2, [&](comm::ProcessGroup& world) {
      Options options("train", "trains");
      options.choice("model", {"mlp", "gpt"}, "gpt", "which model");
      train::tensor_way().declare(options);
      train::sequence_way().declare(options);
      std::vector<const char*> all{"train", "--model", "gpt", "--cp", "2"};
      all.insert(all.end(), words.begin(), words.end());
      const Arguments arguments = options.parse(static_cast<int>(all.size()), all.data());
      CpuDevice device;
      train::Making making{.arguments = arguments, .group = world, .device = device, .recipe = {}};
      making.recipe.model.gpt = {.heads = 3, .sequence = length};
      making.axes = mesh::AxisSizes{.cp = 2, .dp = 1};
      try {
        train::sequence_maker().make_layers(making, nullptr);
      } catch (const UsageError& error) {
        if (world.rank() == 0) message = error.what();
      }
    });
    return message;
  };
  CHECK(told({}, 8) == "");
  CHECK_THAT(told({}, 1), test::contains("cuts a sequence of 1 token into 2 slices"));
  CHECK_THAT(told({"--cp-kind", "zigzag"}, 3), test::contains("into 4 chunks"));
  CHECK_THAT(
      told({"--cp-kind", "ulysses"}, 8),
      test::contains("does not divide the 3 heads of a layer; pass --heads 4, or --cp-kind ring"));
}
