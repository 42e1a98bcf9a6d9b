// Ranks that compute each layer together, under the strategies on top of them: what their
// collectives cost is told, and what their shares need is known before a step.
//   t 2 ranks of a layer, L blocks, B samples, T tokens, C width, V vocabulary
#include <array>
#include <memory>
#include <numeric>

#include "engine/data/text.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/sim/model/price.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/pipeline_memory.hpp"
#include "engine/train/strategies/unheard_group.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/strategies/zero_memory.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using tensor_parallel::Sequence, tensor_parallel::TensorLayers;

namespace {

constexpr std::int64_t layers = 2, rows = 4, tokens = 8, width = 16, vocabulary = 256;

train::Recipe recipe(std::shared_ptr<const nn::LayerMaker> maker) {
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {
      .layers = layers, .width = width, .heads = 4, .sequence = tokens, .vocabulary = vocabulary};
  recipe.model.layers = std::move(maker);
  recipe.optimizer.kind = optim::OptimizerKind::adamw;
  return recipe;
}

std::unique_ptr<data::Dataset> some_text() {
  return data::make_text("a row of words, of which every eighth begins a sample; and another",
                         *data::make_byte_tokenizer(), tokens, tokens);
}

using Make = std::function<std::unique_ptr<train::Strategy>(const train::TrainingRanks&, Device&,
                                                            const train::Recipe&)>;

enum class Between : std::uint8_t { nothing, evaluation };  // the second step and the last

std::unique_ptr<train::Strategy> trained(comm::ProcessGroup& group, const mesh::AxisSizes& sizes,
                                         Sequence sequence, std::int64_t batches, Between between,
                                         Device& device, const Make& make) {
  const train::TrainingRanks ranks(group, sizes);
  auto strategy =
      make(ranks, device, recipe(std::make_shared<TensorLayers>(*ranks.layer(), sequence)));
  const auto dataset = some_text();
  std::vector<std::int64_t> indices(rows);
  std::iota(indices.begin(), indices.end(), 0);
  const std::vector<data::Batch> all(static_cast<std::size_t>(batches),
                                     dataset->batch(indices, DType::float32, device));
  for (int step = 0; step < 3; ++step) {
    if (step == 2 && between == Between::evaluation) strategy->evaluate(*dataset);
    strategy->step(all, {.mode = nn::Mode::training}, 0.01);
  }
  return strategy;
}

double sum_s(std::int64_t numbers) {
  return sim::price_s(sim::Collective::all_reduce, {2, 1}, 4 * numbers, sim::Network{});
}

// Two sums in each block, one behind the embedding and one before the head, each way; and the
// maxima and both sums of the loss.
double layers_of_pass_s(std::int64_t samples) {
  return (4 * layers + 2) * sum_s(samples * tokens * width) + sum_s(samples * tokens) +
         sum_s(2 * samples * tokens);
}

void check_seen(const train::Strategy& strategy, double expected_s) {
  const collectives::Communication seen = strategy.cost().communication;
  CHECK_THAT(seen.total_s, Catch::Matchers::WithinRel(expected_s, 1e-9));
  CHECK(seen.exposed_s > 0);
  CHECK(seen.exposed_s <= seen.total_s);
}

}  // namespace

TEST_CASE(
    "tensor strategies: a step tells of the collectives in its layers, not of an evaluation") {
  for (const std::int64_t batches : {1, 2}) {  // the plain way, and ddp's
    CAPTURE(batches);
    test::on_fibers(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto make = [&](const auto& ranks, Device& at, const train::Recipe& of) {
        return train::make_ddp_or_plain(ranks, at, of, {.accumulate = batches});
      };
      const auto strategy =
          trained(group, {.tp = 2}, Sequence::whole, batches, Between::evaluation, device, make);
      check_seen(*strategy, static_cast<double>(batches) * layers_of_pass_s(rows));
    });
  }
}

TEST_CASE("tensor strategies: the collectives of all stages together are those of the layers") {
  double seen_s = 0;
  test::on_fibers(4, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto make = [](const auto& ranks, Device& at, const train::Recipe& of) {
      return train::make_pipeline(ranks, at, of, 0, {.stages = 2, .micro_batches = 2});
    };
    const auto strategy =
        trained(group, {.tp = 2, .pp = 2}, Sequence::whole, 1, Between::evaluation, device, make);
    if (group.rank() % 2 == 0) seen_s += strategy->cost().communication.total_s;
  });
  CHECK_THAT(seen_s, Catch::Matchers::WithinRel(2 * layers_of_pass_s(rows / 2), 1e-9));
}

// What is on its way between two stages comes on top of what is counted; so does an evaluation,
// which gathers logits.
TEST_CASE("tensor strategies: the memory of a stage's share is counted before a run") {
  const train::PipelineOptions options{.stages = 2, .micro_batches = 2};
  for (const Sequence sequence : {Sequence::whole, Sequence::sliced}) {
    CAPTURE(static_cast<int>(sequence));
    train::Unheard layer(2);
    const auto counted = train::memory_of_stages(
        options, recipe(std::make_shared<TensorLayers>(layer, sequence)), rows);
    // 12·C² + 7·C of a block are cut; both stages have the tied table.
    const std::int64_t block = (12 * width * width + 7 * width) / 2 + 6 * width;
    const std::int64_t ends = 2 * vocabulary * width / 2 + tokens * width + 2 * width;
    constexpr auto parameters = static_cast<std::size_t>(MemoryKind::parameters);
    CHECK(counted[0].bytes[parameters] + counted[1].bytes[parameters] ==
          4 * (layers * block + ends));
    test::on_fibers(4, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto make = [&](const auto& ranks, Device& at, const train::Recipe& of) {
        return train::make_pipeline(ranks, at, of, 0, options);
      };
      const auto strategy =
          trained(group, {.tp = 2, .pp = 2}, sequence, 1, Between::nothing, device, make);
      const train::StageMemory& stage = counted[static_cast<std::size_t>(group.rank() / 2)];
      const auto told = [&](MemoryKind kind) {
        return stage.bytes[static_cast<std::size_t>(kind)];
      };
      for (const MemoryKind kind :
           {MemoryKind::parameters, MemoryKind::gradients, MemoryKind::optimizer_state}) {
        CAPTURE(group.rank(), name_of(kind));
        CHECK(device.bytes_peak(kind) == told(kind));
      }
      const std::int64_t measured = device.bytes_peak(MemoryKind::activations);
      const std::int64_t message = rows / 2 * tokens * width * 4;
      CAPTURE(group.rank(), measured, told(MemoryKind::activations));
      CHECK(measured >= told(MemoryKind::activations));
      CHECK(measured <= told(MemoryKind::activations) + 4 * message);
    });
  }
}

TEST_CASE("tensor strategies: the memory of a shard of a share is counted before a run") {
  for (const zero::Sharding sharding : {zero::Sharding::zero_1, zero::Sharding::full_shard}) {
    CAPTURE(static_cast<int>(sharding));
    train::ZeroOptions options;
    options.sharding.sharding = sharding;
    train::Unheard layer(2);
    const auto told = train::memory_of_rank(
        options, recipe(std::make_shared<TensorLayers>(layer, Sequence::whole)), 2, rows, 1);
    test::on_fibers(4, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto make = [&](const auto& ranks, Device& at, const train::Recipe& of) {
        return train::make_zero(ranks, at, of, 0, options);
      };
      trained(group, {.tp = 2, .dp = 2}, Sequence::whole, 1, Between::nothing, device, make);
      if (group.rank() > 0) return;  // a shard of another may be shorter
      for (const MemoryKind kind :
           {MemoryKind::parameters, MemoryKind::gradients, MemoryKind::optimizer_state}) {
        CAPTURE(name_of(kind));
        CHECK(device.bytes_peak(kind) == told.bytes[static_cast<std::size_t>(kind)]);
      }
    });
  }
}
