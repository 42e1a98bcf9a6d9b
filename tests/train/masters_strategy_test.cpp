// Runs with masters in the loop: checkpoints, from one way to another; the loss scale goes on with
// them; memory that is counted before a step.
#include <filesystem>

#include "engine/base/temporary_folder.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/strategies/zero_memory.hpp"
#include "tests/train/fiber_ranks.hpp"
#include "tests/train/strategy_runs.hpp"

using namespace lockstep;
using lockstep::test::Losses;
using train::ZeroOptions;
using zero::Sharding;

namespace {

using Way = std::optional<ZeroOptions>;  // none: DDP

std::vector<Way> all_ways() {
  return {std::nullopt, ZeroOptions{{Sharding::zero_1, 0}, train::AccumulateIn::whole},
          ZeroOptions{{Sharding::zero_2, 0}}, ZeroOptions{{Sharding::full_shard, 1}},
          ZeroOptions{{Sharding::full_shard, 1, zero::Cut::rows}}};
}

train::Recipe mixed_recipe(DType dtype) {
  train::Recipe recipe = test::small_recipe(optim::OptimizerKind::adamw);
  recipe.model.dtype = dtype;
  recipe.precision.masters = DType::float32;
  if (dtype == DType::float16) recipe.precision.loss_scale = train::LossScale{.first = 2048};
  return recipe;
}

struct Seen {
  Losses losses;
  double scale = 0;
};

Seen run(const Way& way, const train::Recipe& recipe, std::int64_t steps,
         const std::filesystem::path& folder = {}) {
  Seen seen;
  test::on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = way ? train::make_zero(group, device, recipe, 0.5, *way)
                              : train::make_ddp_or_plain(group, device, recipe, {.clip_norm = 0.5});
    Losses mine;
    test::train_small(group, *strategy, "adamw",
                      {.batch_size = 6, .steps = steps, .decay = optim::Decay::constant}, folder,
                      mine);
    if (group.rank() > 0) return;
    seen.losses = mine;
    if (strategy->loss_scaler() != nullptr) seen.scale = strategy->loss_scaler()->scale();
  });
  return seen;
}

void check_goes_on(const Losses& rest, const Losses& expected, std::size_t steps,
                   double tolerance) {
  REQUIRE(rest.steps.size() == expected.steps.size() - steps);
  for (std::size_t k = 0; k < rest.steps.size(); ++k) {
    CAPTURE(k, rest.steps[k].loss, expected.steps[k + steps].loss);
    CHECK(std::abs(rest.steps[k].loss / expected.steps[k + steps].loss - 1) <= tolerance);
  }
}

}  // namespace

TEST_CASE("masters: a run that is saved and restored goes on to the bit, with its loss scale") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Way& way : all_ways()) {
      CAPTURE(name_of(dtype), way.has_value());
      const TemporaryFolder folder("masters");
      const train::Recipe recipe = mixed_recipe(dtype);
      const Seen straight = run(way, recipe, 9);
      run(way, recipe, 4, folder.path());
      train::Recipe goes_on = recipe;  // the scale of the checkpoint counts
      if (dtype == DType::float16) goes_on.precision.loss_scale->first = 1;
      const Seen rest = run(way, goes_on, 9, folder.path());
      check_goes_on(rest.losses, straight.losses, 4, 0);
      CHECK(rest.scale == straight.scale);
      CHECK(rest.scale == (dtype == DType::float16 ? 2048 : 0));
    }
  }
}

TEST_CASE("masters: a loss scale under which gradients overflow is halved until they do not") {
  train::Recipe recipe = mixed_recipe(DType::float16);
  recipe.precision.loss_scale->first = 0x1p24;
  for (const Way& way : all_ways()) {
    CAPTURE(way.has_value() ? static_cast<int>(way->sharding.sharding) : -1);
    const double two_steps = run(way, recipe, 2).scale;
    CHECK(two_steps == 0x1p22);
    const double many_steps = run(way, recipe, 16).scale;
    CHECK(many_steps < 0x1p20);
    CHECK(many_steps > 1);  // a skipped step halves it once, and a taken one leaves it
  }
}

TEST_CASE("masters: what one way has saved is float32, and any other goes on from it") {
  const train::Recipe recipe = mixed_recipe(DType::bfloat16);
  const auto ways = all_ways();
  const Seen straight = run(ways.front(), recipe, 9);
  for (std::size_t from = 0; from < ways.size(); ++from) {
    CAPTURE(from);
    const TemporaryFolder folder("masters");
    run(ways[from], recipe, 4, folder.path());
    const checkpoint::SavedRun saved(*checkpoint::latest_in(folder.path()));
    for (const auto& entry : saved.weights().tensors()) CHECK(entry.dtype == DType::float32);
    const Seen rest = run(ways[(from + 2) % ways.size()], recipe, 9, folder.path());
    // DDP sums in another order than shards do; a bfloat16 has 8 bits.
    check_goes_on(rest.losses, straight.losses, 4, 0x1p-8);
  }
}

TEST_CASE("masters: the memory that is counted before a run is that of the run") {
  for (const Way& way : all_ways()) {
    if (!way) continue;
    for (const auto reduce : {DType::bfloat16, DType::float32}) {
      CAPTURE(static_cast<int>(way->sharding.sharding), name_of(reduce));
      train::Recipe recipe = mixed_recipe(DType::bfloat16);
      recipe.precision.reduce = reduce;
      const auto told = train::memory_of_rank(*way, recipe, 4, 6, 1);
      test::on_fibers(4, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const auto strategy = train::make_zero(group, device, recipe, 0.5, *way);
        Losses losses;
        test::train_small(group, *strategy, "adamw", {.batch_size = 6, .steps = 2}, {}, losses);
        if (group.rank() > 0) return;  // a shard of another may be shorter
        for (const MemoryKind kind : {MemoryKind::parameters, MemoryKind::gradients}) {
          CAPTURE(name_of(kind));
          CHECK(device.bytes_peak(kind) == told.bytes[static_cast<std::size_t>(kind)]);
        }
        constexpr auto state = MemoryKind::optimizer_state;
        CHECK(device.bytes_now(state) == told.bytes[static_cast<std::size_t>(state)]);
      });
    }
  }
}

TEST_CASE("masters: gradients of shards travel in the type that the recipe names") {
  constexpr int steps = 2;
  CpuDevice here;
  const std::int64_t count =
      nn::count_of(*nn::make_model(mixed_recipe(DType::bfloat16).model, here, 0));
  for (const Way& way : all_ways()) {
    if (!way) continue;  // those of DDP travel as its hook says
    CAPTURE(static_cast<int>(way->sharding.sharding));
    const auto bytes_sent = [&](std::optional<DType> reduce) {
      train::Recipe recipe = mixed_recipe(DType::bfloat16);
      recipe.precision.reduce = reduce;
      std::int64_t bytes = 0;
      test::on_fibers(2, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const auto strategy = train::make_zero(group, device, recipe, 0.5, *way);
        Losses losses;
        test::train_small(group, *strategy, "adamw", {.batch_size = 6, .steps = steps}, {}, losses);
        if (group.rank() == 0) bytes = group.traffic().bytes_sent;
      });
      return bytes;
    };
    const std::int64_t narrow = bytes_sent(std::nullopt), wide = bytes_sent(DType::float32);
    CHECK(bytes_sent(DType::bfloat16) == narrow);
    // Of two ranks, each sends half of the gradients in a step, and of each two bytes more.
    CHECK(wide - narrow >= steps * count);
    CHECK(10 * (wide - narrow) <= 11 * steps * count);  // ranges have padding
  }
}

TEST_CASE("masters: a rank of DDP keeps 16 bytes a parameter, gradients included") {
  train::Recipe recipe = mixed_recipe(DType::bfloat16);
  test::on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = train::make_ddp_or_plain(group, device, recipe, {.clip_norm = 0.5});
    Losses losses;
    test::train_small(group, *strategy, "adamw", {.batch_size = 6, .steps = 3}, {}, losses);
    const std::int64_t count = nn::count_of(*nn::make_model(recipe.model, device, 0));
    CHECK(device.bytes_now(MemoryKind::parameters) == 2 * count);
    CHECK(device.bytes_now(MemoryKind::gradients) == 2 * count);
    CHECK(device.bytes_now(MemoryKind::optimizer_state) == 12 * count);
  });
}
