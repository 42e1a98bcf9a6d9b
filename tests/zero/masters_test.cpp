// Shards of another type than the passes: what is owned, gathered and reduced in which type, what
// it costs on the wire and in memory.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "engine/optim/optimizer_spec.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::on_fibers;
using zero::Reduces;
using zero::ShardedUnits;
using zero::Sharding;

namespace {

// Each unit is a multiple of eight elements.
nn::ModelSpec small_gpt(DType dtype) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = dtype;
  spec.gpt = {.layers = 3, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11};
  spec.gpt.head = nn::OutputHead::untied;
  return spec;
}

// Other samples on each rank.
Value loss_of(nn::Module& model, Tape& tape, int rank, Device& device) {
  std::vector<double> tokens;
  for (int i = 0; i < 12; ++i) tokens.push_back((5 * i + 3 * rank) % 11);
  const Tensor batch = from_values(tokens, {2, 6}, DType::int64, device);
  return autograd::cross_entropy(tape, model.forward(tape, tape.constant(batch)), batch);
}

void pass(ShardedUnits& units, int rank, Device& device) {
  units.begin(Reduces::yes);
  Tape tape(GradMode::record);
  tape.backward(loss_of(units.model(), tape, rank, device));
  units.end_backward();
}

zero::ShardingOptions masters_of(Sharding sharding, std::optional<DType> reduce = std::nullopt,
                                 zero::Cut cut = zero::Cut::flat) {
  return {
      .sharding = sharding, .prefetch = 1, .cut = cut, .weights = DType::float32, .reduce = reduce};
}

// Splits as the strategy does.
struct Groups {
  Groups(comm::ProcessGroup& world, Sharding sharding)
      : shards(world.split(sharding == Sharding::no_shard ? world.rank() : 0, world.rank())),
        copies(world.split(sharding == Sharding::no_shard ? 0 : world.rank(), world.rank())) {}
  zero::ShardGroups both() const { return {*shards, copies->size() > 1 ? copies.get() : nullptr}; }
  std::unique_ptr<comm::ProcessGroup> shards, copies;
};

// The sum over ranks of a 16-bit model's gradients, each divided by `ranks`, without rounding; and
// the sum of their magnitudes, on which the roundings of a reduction depend.
struct Sum {
  std::vector<double> value, magnitude;
};
std::map<std::string, Sum> exact_means(DType dtype, int ranks) {
  std::map<std::string, Sum> sums;
  for (int rank = 0; rank < ranks; ++rank) {
    CpuDevice device;
    // Masters are drawn in float32, and rounded.
    const auto drawn = nn::make_model(small_gpt(DType::float32), device, 3);
    const auto model = nn::make_model(small_gpt(dtype), device, 3);
    const auto from = drawn->parameters(), to = model->parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i]->value.convert_(from[i]->value);
    Tape tape(GradMode::record);
    tape.backward(loss_of(*model, tape, rank, device));
    for (const Parameter* p : to) {
      Sum& sum = sums[p->name];
      sum.value.resize(static_cast<std::size_t>(p->value.numel()));
      sum.magnitude.resize(sum.value.size());
      for (std::size_t i = 0; i < sum.value.size(); ++i) {
        const double share = p->grad.item(static_cast<std::int64_t>(i)) / ranks;
        sum.value[i] += share;
        sum.magnitude[i] += std::abs(share);
      }
    }
  }
  return sums;
}

constexpr Sharding all_shardings[] = {Sharding::no_shard, Sharding::zero_1, Sharding::zero_2,
                                      Sharding::shard_grad_op, Sharding::full_shard};

// Relative to the magnitudes: a share is rounded when it is converted and when it is divided, and a
// sum by each of N - 1 additions.
double roundings(DType wire, int ranks) {
  const double last_place = wire == DType::bfloat16  ? 0x1p-9
                            : wire == DType::float16 ? 0x1p-12
                                                     : 0x1p-25;
  return (ranks + 1) * last_place * 1.01;
}

}  // namespace

TEST_CASE(
    "masters: owned gradients are float32, and a reduction rounds in its own type, as often "
    "as it adds") {
  for (const auto cut : {zero::Cut::flat, zero::Cut::rows}) {
    for (const Sharding sharding : all_shardings) {
      const bool gathers = sharding == Sharding::shard_grad_op || sharding == Sharding::full_shard;
      if (cut == zero::Cut::rows && !gathers) continue;
      for (const DType wire : {DType::float32, DType::bfloat16, DType::float16}) {
        for (const int ranks : {1, 2, 3}) {
          CAPTURE(static_cast<int>(sharding), name_of(wire), ranks);
          const auto expected = exact_means(DType::bfloat16, ranks);
          on_fibers(ranks, [&](comm::ProcessGroup& world) {
            CpuDevice device;
            const Groups groups(world, sharding);
            ShardedUnits units(small_gpt(DType::bfloat16), 3, device, groups.both(),
                               masters_of(sharding, wire, cut));
            pass(units, world.rank(), device);
            for (const ShardedUnits::Owned* owned : units.owned()) {
              const Parameter& p = owned->parameter;
              CAPTURE(p.name, owned->begin);
              CHECK(p.value.dtype() == DType::float32);
              REQUIRE(p.grad.dtype() == DType::float32);
              const Sum& sum = expected.at(p.name);
              for (std::int64_t i = owned->begin; i < owned->end; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const double apart = std::abs(p.grad.item(i - owned->begin) - sum.value[at]);
                // Below 2^-14, float16 rounds to multiples of 2^-24.
                const double small = wire == DType::float16 ? (ranks + 1) * 0x1p-25 : 0;
                CHECK(apart <= roundings(wire, ranks) * sum.magnitude[at] + small);
              }
            }
          });
        }
      }
    }
  }
}

// Three times a number of 8 bits has up to 10.
TEST_CASE("masters: gradients of three passes add up in float32") {
  on_fibers(2, [](comm::ProcessGroup& world) {
    CpuDevice device;
    ShardedUnits units(small_gpt(DType::bfloat16), 3, device, {world},
                       masters_of(Sharding::full_shard));
    pass(units, world.rank(), device);
    std::vector<Tensor> once;
    for (const Tensor& sum : units.gradients()) once.push_back(sum.clone());
    for (int again = 0; again < 2; ++again) pass(units, world.rank(), device);
    const std::vector<Tensor> thrice = units.gradients();
    for (std::size_t u = 0; u < once.size(); ++u) {
      for (std::int64_t i = 0; i < once[u].numel(); ++i) {
        CHECK(thrice[u].item(i) == 3 * once[u].item(i));
      }
    }
  });
}

TEST_CASE("masters: after an update, every rank passes with the owners' weights, rounded") {
  for (const Sharding sharding : all_shardings) {
    for (const int ranks : {1, 3}) {
      CAPTURE(static_cast<int>(sharding), ranks);
      std::map<std::string, std::map<std::int64_t, double>> owned_by_all;
      std::vector<double> losses(static_cast<std::size_t>(ranks));
      on_fibers(ranks, [&](comm::ProcessGroup& world) {
        CpuDevice device;
        const Groups groups(world, sharding);
        ShardedUnits units(small_gpt(DType::bfloat16), 3, device, groups.both(),
                           masters_of(sharding));
        optim::OptimizerSpec spec;
        spec.sgd.learning_rate = 0.5;
        const auto optimizer = optim::make_optimizer(spec, units.shards());
        for (int step = 0; step < 2; ++step) {
          units.zero_grad();
          pass(units, world.rank(), device);
          optimizer->step();
          units.end_update();
        }
        for (const ShardedUnits::Owned* owned : units.owned()) {
          for (std::int64_t i = owned->begin; i < owned->end; ++i) {
            owned_by_all[owned->parameter.name][i] = owned->parameter.value.item(i - owned->begin);
          }
        }
        units.begin_evaluation();
        Tape tape(GradMode::inference);
        losses[static_cast<std::size_t>(world.rank())] =
            loss_of(units.model(), tape, 0, device).tensor.item();
      });
      CpuDevice device;
      const auto model = nn::make_model(small_gpt(DType::bfloat16), device, 3);
      for (Parameter* p : model->parameters()) {
        for (const auto& [i, value] : owned_by_all.at(p->name)) {
          p->value.view({-1}).narrow(i, 1).fill_(value);
        }
      }
      Tape tape(GradMode::inference);
      const double expected = loss_of(*model, tape, 0, device).tensor.item();
      for (const double loss : losses) CHECK(loss == expected);
    }
  }
}

TEST_CASE("masters: a step gathers 16 bits and reduces in the reduction's type") {
  const nn::ModelSpec spec = small_gpt(DType::bfloat16);
  for (const Sharding sharding : {Sharding::zero_1, Sharding::zero_2, Sharding::full_shard}) {
    for (const DType wire : {DType::bfloat16, DType::float32}) {
      for (const int ranks : {2, 4, 8}) {
        CAPTURE(static_cast<int>(sharding), name_of(wire), ranks);
        on_fibers(ranks, [&](comm::ProcessGroup& world) {
          CpuDevice device;
          ShardedUnits units(spec, 3, device, {world}, masters_of(sharding, wire));
          const std::int64_t before = world.traffic().bytes_sent;
          pass(units, world.rank(), device);
          units.end_update();
          const std::int64_t all = nn::count_of(*nn::make_model(spec, device, 3));
          const std::int64_t last =
              nn::count_of(*nn::make_units(spec, device, 3, {nn::unit_count(spec) - 1, 1}));
          const std::int64_t gathered = sharding == Sharding::full_shard ? 2 * all - last : all;
          const auto width = static_cast<std::int64_t>(bytes_of(wire));
          const std::int64_t sent = world.traffic().bytes_sent - before;
          CHECK(sent == (2 * gathered + width * all) * (ranks - 1) / ranks);
          CHECK(sent == units.bytes_planned());
        });
      }
    }
  }
}

TEST_CASE(
    "masters: a rank keeps 16/N bytes a parameter of FSDP, and 2 + 16/N of ZeRO's first stages") {
  const nn::ModelSpec spec = small_gpt(DType::bfloat16);
  for (const Sharding sharding : all_shardings) {
    constexpr int ranks = 4;
    CAPTURE(static_cast<int>(sharding));
    on_fibers(ranks, [&](comm::ProcessGroup& world) {
      CpuDevice device;
      const Groups groups(world, sharding);
      ShardedUnits units(spec, 3, device, groups.both(), masters_of(sharding));
      optim::OptimizerSpec adam;
      adam.kind = optim::OptimizerKind::adam;
      const auto optimizer = optim::make_optimizer(adam, units.shards());
      pass(units, world.rank(), device);
      optimizer->step();
      units.end_update();
      const std::int64_t all = nn::count_of(*nn::make_model(spec, device, 3));
      const std::int64_t own = sharding == Sharding::no_shard ? all : all / ranks;
      const bool gathers = sharding == Sharding::shard_grad_op || sharding == Sharding::full_shard;
      // The moments, and masters where the parameters are whole beside them.
      CHECK(device.bytes_now(MemoryKind::optimizer_state) == (gathers ? 8 : 12) * own);
      CHECK(device.bytes_now(MemoryKind::parameters) == (gathers ? 4 * own : 2 * all));
      CHECK(device.bytes_now(MemoryKind::gradients) == 4 * own);
    });
  }
}
