// Pipelines in the loop: epochs that end in the middle of a batch, checkpoints that other numbers
// of stages go on from, and what a pipeline refuses. Equality with one rank over many settings is
// in tests/equality.
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/pipeline_memory.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using pipeline::Schedule;

namespace {

constexpr double rounding = 1e-12;  // sums in another order, in float64, over some 30 steps

struct Seen final : train::Observer {
  std::vector<double> losses;
  std::vector<double> test_losses;
  std::vector<train::StageTimes> stages;
  void on_step(const train::StepReport& report) override {
    losses.push_back(report.loss);
    if (report.stages) stages.push_back(*report.stages);
  }
  void on_epoch(const train::EpochReport& report) override {
    test_losses.push_back(report.test_loss);
    CHECK(report.agreement.differs == -1);
  }
  void on_end(const train::Summary&) override {}
};

train::Recipe recipe() {
  train::Recipe recipe;
  recipe.model.widths = {16, 24, 12, 20, 5};  // four units
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = optim::OptimizerKind::adamw;
  recipe.optimizer.adam = {.learning_rate = 0.01, .weight_decay = 0.1};
  recipe.seed = 3;
  return recipe;
}

std::unique_ptr<train::Strategy> make(comm::ProcessGroup& group, Device& device,
                                      const train::PipelineOptions& of_pipeline) {
  if (of_pipeline.stages == 0) {  // one rank
    return train::make_plain(group, train::make_replica(recipe(), device), 0.5);
  }
  train::check(of_pipeline, group.size());
  const mesh::AxisSizes pipelines{.dp = group.size() / of_pipeline.stages,
                                  .pp = of_pipeline.stages};
  return train::make_pipeline({group, pipelines}, device, recipe(), 0.5, of_pipeline);
}

constexpr train::PipelineOptions one_rank{.stages = 0};

// A batch of 12, of 41 samples: an epoch ends with 5, or with fewer than there are micro-batches.
Seen run(const train::PipelineOptions& of_pipeline, int ranks, std::int64_t batch_size,
         std::int64_t steps, const std::filesystem::path& folder = {}) {
  Seen seen;
  const auto train_set = data::make_synthetic(41, 16, 5, 1);
  const auto test_set = data::make_synthetic(29, 16, 5, 2);
  test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = make(group, device, of_pipeline);
    train::TrainOptions options{.batch_size = batch_size, .steps = steps};
    if (!folder.empty()) {
      if (const auto latest = checkpoint::latest_in(folder)) {
        const checkpoint::SavedRun saved(*latest);
        strategy->restore(saved);
        options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
      }
      options.save = [&](const train::Position& at) {
        checkpoint::FileStorage storage(folder);
        train::save(*strategy, train::SaveForm::dense, "adamw", storage,
                    {.step = at.step, .epoch = at.epoch, .taken = at.taken}, {});
      };
    }
    Seen mine;
    const std::array<train::Observer*, 1> observers{&mine};
    train::train(*strategy, *train_set, *test_set, options, observers);
    if (group.rank() == 0) seen = mine;
  });
  return seen;
}

void check_same(const Seen& one, const Seen& other) {
  REQUIRE(one.losses.size() == other.losses.size());
  REQUIRE(one.test_losses.size() == other.test_losses.size());
  for (std::size_t k = 0; k < one.losses.size(); ++k) {
    CAPTURE(k);
    CHECK(std::abs(one.losses[k] / other.losses[k] - 1) <= rounding);
  }
  for (std::size_t e = 0; e < one.test_losses.size(); ++e) {
    CHECK(std::abs(one.test_losses[e] / other.test_losses[e] - 1) <= rounding);
  }
}

}  // namespace

TEST_CASE("pipeline: the last batch of an epoch may have fewer samples than micro-batches") {
  const Seen alone = run(one_rank, 1, 12, 14);
  const Schedule schedule = GENERATE(Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble);
  for (const int micro_batches : {1, 6, 12}) {
    CAPTURE(micro_batches);
    const Seen seen =
        run({.stages = 3, .micro_batches = micro_batches, .schedule = schedule}, 3, 12, 14);
    check_same(seen, alone);
    for (const train::StageTimes& step : seen.stages) CHECK(step.busy_s <= step.span_s);
  }
  check_same(run({.stages = 2, .micro_batches = 6, .chunks = 2, .schedule = Schedule::interleaved},
                 2, 12, 14),
             alone);
  check_same(run({.stages = 3, .schedule = Schedule::gpipe, .naive = true}, 3, 12, 14), alone);
  // Two pipelines pad an epoch with its head, as DDP does.
  const Seen padded = run({.stages = 2, .micro_batches = 3, .schedule = schedule}, 4, 6, 14);
  CHECK(padded.losses.size() == 14);
  CHECK(std::abs(padded.losses.front() / alone.losses.front() - 1) <= rounding);
}

TEST_CASE("pipeline: a run that is saved goes on with other stages, or with one rank") {
  struct Rest {
    train::PipelineOptions options;
    int ranks;
  };
  const train::PipelineOptions two{
      .stages = 2, .micro_batches = 4, .schedule = Schedule::zero_bubble};
  const train::PipelineOptions three{.stages = 3, .micro_batches = 4};
  const train::PipelineOptions chunks{
      .stages = 2, .micro_batches = 4, .chunks = 2, .schedule = Schedule::interleaved};
  for (const auto& [first, rest] : {std::pair{Rest{two, 2}, Rest{one_rank, 1}},
                                    {Rest{one_rank, 1}, Rest{three, 3}},
                                    {Rest{chunks, 2}, Rest{three, 3}},
                                    {Rest{three, 3}, Rest{chunks, 2}}}) {
    const TemporaryFolder folder("pipeline");
    run(first.options, first.ranks, 12, 6, folder.path());
    const Seen seen = run(rest.options, rest.ranks, 12, 14, folder.path());
    REQUIRE(seen.losses.size() == 8);
    CAPTURE(first.options.stages, rest.options.stages);
    const TemporaryFolder other("one_rank");
    run(one_rank, 1, 12, 6, other.path());
    check_same(seen, run(one_rank, 1, 12, 14, other.path()));
  }
}

TEST_CASE("pipeline: with ZeRO 1, two pipelines save and go on as with whole state") {
  const train::PipelineOptions whole{.stages = 2, .micro_batches = 3};
  train::PipelineOptions sharded = whole;
  sharded.state = train::StageState::sharded;
  const auto goes_on = [](const train::PipelineOptions& first, const train::PipelineOptions& rest) {
    const TemporaryFolder folder("pipeline");
    run(first, 4, 6, 6, folder.path());
    return run(rest, 4, 6, 14, folder.path());
  };
  const Seen expected = goes_on(whole, whole);
  REQUIRE(expected.losses.size() == 8);
  check_same(goes_on(sharded, whole), expected);
  check_same(goes_on(whole, sharded), expected);
  check_same(goes_on(sharded, sharded), expected);
}

TEST_CASE("pipeline: what does not fit is refused on every rank") {
  const auto refused = [](const train::PipelineOptions& options, int ranks) {
    std::string message;
    try {
      run(options, ranks, 12, 1);
    } catch (const std::exception& error) {
      message = error.what();
    }
    return message;
  };
  CHECK_THAT(refused({.stages = 3}, 4),
             contains("does not fit on 4 ranks") && contains("--ranks 6"));
  CHECK_THAT(refused({.stages = 5}, 5),
             contains("5 parts needs as many units, but the model has 4"));
  CHECK_THAT(
      refused({.stages = 2, .micro_batches = 3, .chunks = 2, .schedule = Schedule::interleaved}, 2),
      contains("--pp 2 does not divide --micro-batches 3"));
  CHECK_THAT(refused({.stages = 1, .chunks = 2, .schedule = Schedule::interleaved}, 1),
             contains("needs several stages"));
  CHECK_THAT(refused({.stages = 2, .micro_batches = 0}, 2), contains("each starts at 1"));
}

TEST_CASE("pipeline: parts that cannot have equally many layers are told of, with what it costs") {
  nn::ModelSpec model;
  model.widths = {10, 10, 10, 10};  // three layers of 100 products each
  CHECK(train::uneven_parts({.stages = 3}, model).empty());
  CHECK(train::uneven_parts({.stages = 1, .chunks = 1}, model).empty());
  CHECK_THAT(train::uneven_parts({.stages = 2}, model),
             contains("3 layers do not make 2 equal parts") && contains("takes 3"));
  model.kind = nn::ModelKind::gpt;
  model.gpt = {.layers = 8, .width = 16, .heads = 2, .sequence = 8, .vocabulary = 16};
  CHECK(train::uneven_parts({.stages = 2, .chunks = 4}, model).empty());
  CHECK_THAT(train::uneven_parts({.stages = 3}, model), contains("8 layers do not make 3"));
}

// What is on its way between two stages comes on top of what is counted: at most one activation and
// one gradient for each micro-batch and chunk.
TEST_CASE("pipeline: the memory that is counted before a run is that of the run") {
  const train::PipelineOptions chunks{
      .stages = 2, .micro_batches = 6, .chunks = 2, .schedule = Schedule::interleaved};
  struct Case {
    train::PipelineOptions options;
    std::int64_t rows;
  };
  for (const auto& [options, rows] :
       {Case{{.stages = 2, .micro_batches = 6, .schedule = Schedule::gpipe}, 12},
        {{.stages = 3, .micro_batches = 5}, 12},
        {chunks, 12},
        {chunks, 5},  // in five micro-batches, which the stages do not divide
        {{.stages = 2, .micro_batches = 6, .schedule = Schedule::zero_bubble}, 12},
        {{.stages = 2, .micro_batches = 6, .state = train::StageState::sharded, .pipelines = 3},
         12}}) {
    const auto counted = train::memory_of_stages(options, recipe(), rows);
    const auto dataset = data::make_synthetic(rows, 16, 5, 1);
    const int pipelines = options.pipelines;
    test::on_fibers(options.stages * pipelines, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto strategy = make(group, device, options);
      std::vector<std::int64_t> indices(static_cast<std::size_t>(rows));
      std::iota(indices.begin(), indices.end(), 0);
      const std::array batches{dataset->batch(indices, DType::float64, device)};
      for (int step = 0; step < 3; ++step)
        strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
      if (group.rank() % pipelines != 0) return;  // a shard of another may be shorter
      const train::StageMemory& stage = counted[static_cast<std::size_t>(group.rank() / pipelines)];
      CAPTURE(static_cast<int>(options.schedule), group.rank());
      const auto seen = [&](MemoryKind kind) {
        return std::pair{device.bytes_peak(kind), stage.bytes[static_cast<std::size_t>(kind)]};
      };
      for (const MemoryKind kind :
           {MemoryKind::parameters, MemoryKind::gradients, MemoryKind::optimizer_state}) {
        CAPTURE(name_of(kind));
        CHECK(seen(kind).first == seen(kind).second);
      }
      const auto [measured, expected] = seen(MemoryKind::activations);
      const std::int64_t widest_bytes = 24 * 3 * 8;  // three rows, before a stage
      CHECK(measured >= expected);
      CHECK(measured <= expected + 2 * options.micro_batches * options.chunks * widest_bytes);
    });
  }
}

TEST_CASE(
    "pipeline: a stage that does not fit its device is refused with the bytes that it misses") {
  const train::PipelineOptions options{
      .stages = 2, .micro_batches = 6, .schedule = Schedule::gpipe};
  const std::array<std::int64_t, 1> batches_of_12{12};
  const auto counted = train::memory_of_stages(options, recipe(), 12);
  const auto [least, most] = std::minmax(counted[0].peak, counted[1].peak);
  REQUIRE(least < most);
  train::check_memory(options, recipe(), batches_of_12, {"small one", most});
  const std::string larger = counted[0].peak == most ? "stage 0" : "stage 1";
  const std::string smaller = counted[0].peak == most ? "stage 1" : "stage 0";
  try {
    train::check_memory(options, recipe(), batches_of_12, {"small one", most - 1});
    FAIL("it fits");
  } catch (const UsageError& error) {
    CHECK_THAT(error.what(), contains("a rank's small one has") && contains(larger + " needs") &&
                                 contains(": 1 byte is missing") && contains("(6 in flight)") &&
                                 !contains(smaller + " needs"));
  }
  CHECK_THROWS_AS(train::check_memory(options, recipe(), batches_of_12, {"small one", least - 1}),
                  UsageError);
}

TEST_CASE("pipeline: a short last batch that keeps more than a full one is counted, too") {
  const train::PipelineOptions chunks{
      .stages = 2, .micro_batches = 12, .chunks = 2, .schedule = Schedule::interleaved};
  const auto full = train::memory_of_stages(chunks, recipe(), 12);
  const auto last = train::memory_of_stages(chunks, recipe(), 11);
  CHECK(full[0].in_flight == 5);
  CHECK(last[0].in_flight == 22);
  REQUIRE(last[0].peak > full[0].peak);

  // 41 samples: three batches of 12, and one of five.
  using Sizes = std::vector<std::int64_t>;
  CHECK(train::batch_sizes({.batch_size = 12}, 41, 1) == Sizes{12, 5});
  CHECK(train::batch_sizes({.batch_size = 12, .steps = 3}, 41, 1) == Sizes{12});
  CHECK(train::batch_sizes({.batch_size = 12, .steps = 4}, 41, 1) == Sizes{12, 5});
  CHECK(train::batch_sizes({.batch_size = 12}, 47, 2) == Sizes{12});
  CHECK_THROWS_AS(train::batch_sizes({.batch_size = 48}, 47, 1), UsageError);

  const std::int64_t room = std::max(full[0].peak, full[1].peak);
  train::check_memory(chunks, recipe(), Sizes{12}, {"small one", room});
  CHECK_THROWS_WITH(train::check_memory(chunks, recipe(), Sizes{12, 11}, {"small one", room}),
                    contains("stage 0 needs") && contains("(22 in flight)"));
}
