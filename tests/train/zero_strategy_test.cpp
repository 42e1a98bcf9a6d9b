// Sharded state in the loop: evaluation, checkpoints across ways and numbers of ranks, memory.
#include "engine/train/strategies/zero.hpp"

#include <array>
#include <filesystem>

#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/memory_storage.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/zero_memory.hpp"
#include "tests/train/fiber_ranks.hpp"
#include "tests/train/strategy_runs.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::Losses;
using train::AccumulateIn;
using train::ZeroOptions;
using zero::Offload;
using zero::Sharding;

namespace {

ZeroOptions plain(Sharding sharding, int shard_ranks = 0) {
  ZeroOptions options{{sharding, 0}, AccumulateIn::shards, shard_ranks};
  options.overlaps = false;
  return options;
}

std::vector<ZeroOptions> all_options() {
  return {{{Sharding::no_shard, 0}},
          {{Sharding::zero_1, 0}, AccumulateIn::whole},
          {{Sharding::zero_2, 0}},
          {{Sharding::shard_grad_op, 1}},
          {{Sharding::full_shard, 1}},
          {{Sharding::full_shard, 1, zero::Cut::rows}},
          {{Sharding::full_shard, 0}, AccumulateIn::whole, 2},
          {{Sharding::zero_2, 0, zero::Cut::flat, Offload::optimizer}},
          {{Sharding::full_shard, 1, zero::Cut::rows, Offload::all}, {}, 2},
          plain(Sharding::no_shard),
          plain(Sharding::zero_1),
          plain(Sharding::zero_2),
          plain(Sharding::shard_grad_op),
          plain(Sharding::full_shard),
          plain(Sharding::full_shard, 2)};
}

// What rank 0 saw; without options: DDP. As many ranks as `alike` read each share, and compute the
// same.
Losses run(int ranks, const std::optional<ZeroOptions>& options, train::TrainOptions of_loop,
           const std::filesystem::path& folder = {}, int alike = 1) {
  Losses seen;
  test::on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
    const train::TrainingRanks placed(group, {.tp = alike, .dp = ranks / alike});
    const auto strategy =
        options ? train::make_zero(placed, device, recipe, 0.5, *options)
                : train::make_ddp_or_plain(placed, device, recipe,
                                           {.accumulate = of_loop.accumulate, .clip_norm = 0.5});
    Losses mine;
    test::train_small(group, *strategy, "adamw", of_loop, folder, mine);
    if (group.rank() == 0) seen = mine;
  });
  return seen;
}

}  // namespace

TEST_CASE("zero: losses and evaluations are DDP's, also where ranks have unequal samples") {
  for (const ZeroOptions& options : all_options()) {
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(static_cast<int>(options.sharding.sharding), ranks);
      const train::TrainOptions of_loop{.batch_size = 6, .accumulate = 2, .epochs = 1};
      test::check_same(run(ranks, options, of_loop), run(ranks, std::nullopt, of_loop),
                       test::rounding);
    }
  }
}

TEST_CASE("zero: where two ranks compute the same, one of them counts it in the norm") {
  const train::TrainOptions of_loop{.batch_size = 6, .epochs = 1};
  for (const ZeroOptions& options :
       {ZeroOptions{{Sharding::full_shard, 1}}, ZeroOptions{{Sharding::zero_2, 0}}}) {
    CAPTURE(static_cast<int>(options.sharding.sharding));
    test::check_same(run(4, options, of_loop, {}, 2), run(2, options, of_loop), 0);
  }
}

TEST_CASE("zero: a run saved by one sharding goes on with any other, on other ranks, or with DDP") {
  const auto of_loop = [](std::int64_t batch_size, std::int64_t steps) {
    return train::TrainOptions{
        .batch_size = batch_size, .steps = steps, .decay = optim::Decay::constant};
  };
  const Losses expected = run(4, std::nullopt, of_loop(6, 9));
  std::vector<std::optional<ZeroOptions>> ways = {std::nullopt};
  for (const ZeroOptions& options : all_options()) ways.emplace_back(options);
  for (std::size_t from = 0; from < ways.size(); ++from) {
    CAPTURE(from);
    const std::size_t to = (from + 2) % ways.size();
    const TemporaryFolder folder("zero");
    run(4, ways[from], of_loop(6, 4), folder.path());
    test::check_continues(run(2, ways[to], of_loop(12, 9), folder.path()), expected, 4);
  }
}

TEST_CASE("zero: a rank that goes on reads blocks of what it keeps, and no others") {
  train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
  recipe.model.widths = {256, 1024, 512, 5};  // matrices of 32 blocks and more
  checkpoint::MemoryStorage storage;
  test::on_fibers(1, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = train::make_ddp_or_plain(group, device, recipe, {});
    const std::array batches{
        data::make_synthetic(2, 256, 5, 1)
            ->batch(std::array<std::int64_t, 2>{0, 1}, DType::float64, device)};
    strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
    test::save_into(storage, *strategy, "adamw", {.step = 1});
  });
  for (const ZeroOptions& options : all_options()) {
    CAPTURE(static_cast<int>(options.sharding.sharding), options.shard_ranks);
    test::on_fibers(4, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto strategy = train::make_zero(group, device, recipe, 0, options);
      const checkpoint::SavedRun saved(storage, "step_000001");  // reads the index
      group.barrier();
      for (int rank = 0; rank < group.size(); ++rank, group.barrier()) {
        if (group.rank() != rank) continue;
        const std::int64_t before = storage.bytes_read();
        strategy->restore(saved);
        const std::int64_t read = storage.bytes_read() - before;
        std::int64_t own = 0, ends = 0;
        for (const train::Piece& piece : strategy->pieces()) {
          own += static_cast<std::int64_t>(piece.value.bytes());
          ends += 2;
        }
        CAPTURE(read, own);
        CHECK(read >= own);
        CHECK(read <= own + ends * (1 << 16));
      }
    });
  }
}

TEST_CASE("zero: the memory that is counted before a run is that of the run") {
  for (const ZeroOptions& options : all_options()) {
    for (const std::int64_t accumulate : {1, 2}) {
      CAPTURE(static_cast<int>(options.sharding.sharding), accumulate);
      const train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
      const auto told = train::memory_of_rank(options, recipe, 4, 6, accumulate);
      test::on_fibers_with_strands(4, [&](comm::ProcessGroup& group, Strands& strands) {
        CpuDevice device, host;
        const HostMemory memory{host};
        ZeroOptions mine = options;
        mine.strands = &strands;
        mine.host = &memory;
        const auto strategy = train::make_zero(group, device, recipe, 0.5, mine);
        Losses losses;
        test::train_small(group, *strategy, "adamw",
                          {.batch_size = 6, .accumulate = accumulate, .steps = 2}, {}, losses);
        if (group.rank() > 0) return;  // a shard of another may be shorter
        for (const MemoryKind kind : {MemoryKind::parameters, MemoryKind::gradients}) {
          CAPTURE(name_of(kind));
          CHECK(device.bytes_peak(kind) == told.bytes[static_cast<std::size_t>(kind)]);
          CHECK(host.bytes_peak(kind) == told.host.bytes[static_cast<std::size_t>(kind)]);
        }
        // Whoever asks for the state is given the counts of updates as tensors, too.
        constexpr auto state = MemoryKind::optimizer_state;
        CHECK(device.bytes_now(state) == told.bytes[static_cast<std::size_t>(state)]);
        CHECK(host.bytes_now(state) == told.host.bytes[static_cast<std::size_t>(state)]);
        const bool offloads = options.sharding.offload != Offload::nothing;
        CHECK((device.bytes_peak(state) == 0) == offloads);
      });
    }
  }
}

TEST_CASE("zero: what does not fit is refused before a step, by kind, and a shard of it fits") {
  train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
  recipe.model.widths = {256, 1024, 1024, 1024, 256};
  const std::int64_t sizes[] = {8};
  const auto check = [&](Sharding sharding, int ranks) {
    train::check_memory({{sharding, 0}}, recipe, ranks, sizes, 1,
                        {"modelled card", std::int64_t{50} << 20});
  };
  CHECK_THROWS_WITH(check(Sharding::no_shard, 8),
                    contains("a rank's modelled card has") && contains("optimizer state") &&
                        contains("--fsdp full_shard shards all but the last"));
  CHECK_THROWS_AS(check(Sharding::full_shard, 1), UsageError);
  // 1024 · 1024 weights and 1024 biases in float64.
  CHECK_THROWS_WITH(
      train::check_memory({{Sharding::full_shard, 0}}, recipe, 64, sizes, 1,
                          {"modelled card", std::int64_t{12} << 20}),
      contains(
          "the largest unit is gathered whole, 8.40 MB of parameters and 8.40 MB of gradients, "
          "however many --ranks"));
  CHECK_NOTHROW(check(Sharding::full_shard, 8));
}

TEST_CASE("zero: a node has a copy unless told otherwise, also alone or of one rank") {
  CHECK(train::shard_ranks_by_node(8, 4) == 4);
  CHECK(train::shard_ranks_by_node(4, 1) == 1);
  for (const int of_one_node : {0, 4, 8}) CHECK(train::shard_ranks_by_node(4, of_one_node) == 4);
  CHECK_THROWS_WITH(train::shard_ranks_by_node(6, 4),
                    contains("the 4 ranks of a node do not divide --ranks 6; pass --ranks 8, or"));
}

TEST_CASE("zero: the copies that are counted before a run are those of its steps") {
  const train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
  for (const ZeroOptions& options : all_options()) {
    if (options.sharding.offload == Offload::nothing) continue;
    for (const std::int64_t accumulate : {1, 2}) {
      CAPTURE(static_cast<int>(options.sharding.sharding), accumulate);
      const HostTraffic told = train::copies_of_step(options, recipe.model, 4, accumulate);
      CHECK(told.down > 0);
      test::on_fibers(4, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const auto strategy = train::make_zero(group, device, recipe, 0.5, options);
        Losses losses;
        test::train_small(group, *strategy, "adamw",
                          {.batch_size = 6, .accumulate = accumulate, .steps = 2}, {}, losses);
        REQUIRE(strategy->cost().host);
        const auto [down, up] = strategy->cost().host->bytes;
        CHECK(down == told.down);
        CHECK(up == told.up);
      });
    }
  }
}

TEST_CASE(
    "zero: what the host cannot hold is refused before a step, with the ranks that would fit") {
  train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
  recipe.model.widths = {256, 1024, 1024, 1024, 256};
  const std::int64_t sizes[] = {8};
  const auto check = [&](std::function<std::int64_t(int)> host_bytes) {
    const ZeroOptions options{{Sharding::zero_2, 0, zero::Cut::flat, Offload::optimizer}};
    train::check_memory(options, recipe, 2, sizes, 1,
                        {"modelled card", std::int64_t{1} << 40, 0, std::move(host_bytes)});
  };
  CHECK_NOTHROW(check([](int) { return std::int64_t{1} << 40; }));
  CHECK_THROWS_WITH(check([](int) { return std::int64_t{11} << 20; }),
                    contains("a rank's share of the host has") && contains("optimizer state") &&
                        contains("with --ranks 8 it fits"));
  CHECK_THROWS_WITH(check([](int ranks) { return (std::int64_t{10} << 20) / ranks; }),
                    contains("more --ranks do not help"));
  CHECK_THROWS_WITH(check(nullptr), contains("this cluster says nothing"));
}

TEST_CASE("zero: copies are shared by equally many ranks, or refused") {
  CHECK_NOTHROW(train::check({{}, {}, 2}, 6));
  CHECK_NOTHROW(train::check({{}, {}, 6}, 6));
  CHECK_THROWS_WITH(train::check({{}, {}, 4}, 6), contains("pass a divisor"));
  CHECK_THROWS_WITH(train::check({{}, {}, 8}, 4), contains("--shard-ranks 8 does not divide"));
}
