// State on the host: the same bits, exactly the bytes that the table of host_shards.hpp says, and
// copies that run beside the passes. Whoever does not wait for a copy computes with what is stale.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"
#include "tests/zero/small_gpt.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::pass;
using lockstep::test::small_gpt;
using zero::Cut;
using zero::HostLink;
using zero::Offload;
using zero::Reduces;
using zero::ShardedUnits;
using zero::Sharding;

namespace {

void step(ShardedUnits& units, optim::Optimizer& optimizer, int rank, Device& device,
          int passes = 1) {
  units.zero_grad();
  for (int k = 0; k < passes; ++k) pass(units, rank, device);
  optimizer.step();
  units.end_update();
}

std::vector<double> numbers_of(ShardedUnits& units) {
  std::vector<double> all;
  for (const Parameter* shard : units.shards()) {
    const auto numbers = shard->value.data<double>();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

struct Case {
  Sharding sharding;
  Offload offload;
  Cut cut = Cut::flat;
  DType passes = DType::float64;  // float32: with masters, which are float64
};
constexpr Case all_cases[] = {
    {Sharding::no_shard, Offload::optimizer},
    {Sharding::zero_1, Offload::optimizer},
    {Sharding::zero_2, Offload::optimizer},
    {Sharding::shard_grad_op, Offload::optimizer},
    {Sharding::shard_grad_op, Offload::all, Cut::rows},
    {Sharding::full_shard, Offload::optimizer, Cut::rows},
    {Sharding::full_shard, Offload::all},
    {Sharding::zero_2, Offload::optimizer, Cut::flat, DType::float32},
    {Sharding::full_shard, Offload::optimizer, Cut::rows, DType::float32},
    {Sharding::full_shard, Offload::all, Cut::flat, DType::float32},
};

// A rank of the test: with `link`, its state is on the host behind it.
std::unique_ptr<ShardedUnits> units_of(const Case& of, comm::ProcessGroup& group, Device& device,
                                       HostLink* link, int prefetch = 1) {
  const auto offload = link != nullptr ? of.offload : Offload::nothing;
  nn::ModelSpec spec = small_gpt(nn::OutputHead::tied);
  spec.dtype = of.passes;
  return std::make_unique<ShardedUnits>(
      spec, 3, device, zero::ShardGroups{group},
      zero::ShardingOptions{of.sharding, prefetch, of.cut, offload, DType::float64}, link);
}

// What rank 0 has after three steps, of which the second one takes two batches.
std::vector<double> trained(
    const Case& of, int ranks,
    const std::function<std::unique_ptr<HostLink>(comm::ProcessGroup&, Strands&, Device&)>&
        make_link) {
  std::vector<double> seen;
  test::on_fibers_with_strands(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device, host;
    const auto link = make_link(group, strands, host);
    const auto units = units_of(of, group, device, link.get());
    const auto optimizer = optim::make_adamw(units->shards(), {.learning_rate = 0.1});
    for (int k = 0; k < 3; ++k) step(*units, *optimizer, group.rank(), device, 1 + k % 2);
    pass(*units, group.rank(), device);
    if (group.rank() == 0) seen = numbers_of(*units);
    for (const Tensor& sum : units->gradients()) {
      const auto numbers = sum.data<double>();
      if (group.rank() == 0) seen.insert(seen.end(), numbers.begin(), numbers.end());
    }
  });
  return seen;
}

std::unique_ptr<HostLink> no_link(comm::ProcessGroup&, Strands&, Device&) { return nullptr; }
std::unique_ptr<HostLink> right_link(comm::ProcessGroup& group, Strands& strands, Device& host) {
  return zero::make_host_link({host}, &strands, group);
}

// A link that says of a copy that it is there, but makes it when the next one of its direction is
// asked for. Memory that it should have written for the first time is zero until then.
class LateLink final : public HostLink {
 public:
  enum class Late : std::uint8_t { down, up };
  // The last of every `period` copies in that direction is late.
  LateLink(Device& host, Offload offload, Late late, int period)
      : host_(host), offload_(offload), late_(late), period_(period) {}

  Device& host() override { return host_; }
  comm::Work down(const Tensor& on_device, const Tensor& on_host, Arrives how) override {
    const bool adds = how == Arrives::adds;
    if (!adds) on_host.fill_(0);
    return take(Late::down, [=] {
      if (adds) return on_host.reduce_(on_device.to(on_host.dtype()), ReduceOp::sum);
      on_host.convert_(on_device);
    });
  }
  comm::Work up(const Tensor& on_host, const Tensor& on_device) override {
    if (offload_ == Offload::all) on_device.fill_(0);
    return take(Late::up, [=] { on_device.copy_(on_host); });
  }
  HostTraffic traffic() const override { return {}; }

 private:
  comm::Work take(Late direction, std::function<void()> copy) {
    if (direction != late_) {
      copy();
      return {};
    }
    if (held_) held_();
    held_ = {};
    if (++count_ % period_ == 0) {
      held_ = std::move(copy);
    } else {
      copy();
    }
    return {};
  }

  Device& host_;
  Offload offload_;
  Late late_;
  int period_, count_ = 0;
  std::function<void()> held_{};
};

std::int64_t shard_elements(const nn::ModelSpec& spec, std::int64_t unit, int ranks) {
  SymbolicDevice nowhere;
  return (nn::count_of(*nn::make_units(spec, nowhere, 0, {unit, 1})) + ranks - 1) / ranks;
}

}  // namespace

TEST_CASE("offload: values and gradients are, to the bit, those of state on the device") {
  for (const Case& of : all_cases) {
    for (const int ranks : {1, 2, 3, 4}) {
      if (of.sharding == Sharding::no_shard && ranks > 1) continue;
      CAPTURE(static_cast<int>(of.sharding), static_cast<int>(of.offload), ranks);
      CHECK(trained(of, ranks, right_link) == trained(of, ranks, no_link));
    }
  }
}

TEST_CASE("offload: a last gradient, or a last parameter, that nobody waits for is stale") {
  using Late = LateLink::Late;
  constexpr int units = 6;  // of the tied model, its root included
  for (const Case& of : all_cases) {
    CAPTURE(static_cast<int>(of.sharding), static_cast<int>(of.offload));
    const auto with = [&](Late late, int period) {
      return trained(of, 1, [&](comm::ProcessGroup&, Strands&, Device& host) {
        return std::make_unique<LateLink>(host, of.offload, late, period);
      });
    };
    const std::vector<double> right = trained(of, 1, no_link);
    constexpr int never = 1 << 30;
    CHECK(with(Late::down, never) == right);
    CHECK(with(Late::down, units) != right);
    CHECK(with(Late::up, units) != right);
  }
}

TEST_CASE("offload: a step copies its shard of gradients down, and as many parameters up") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  const std::int64_t count = nn::unit_count(spec);
  for (const int ranks : {1, 2, 3, 4}) {
    std::int64_t shards = 0;
    for (std::int64_t unit = 0; unit < count; ++unit) shards += shard_elements(spec, unit, ranks);
    const std::int64_t last = shard_elements(spec, count - 1, ranks);
    for (const auto& [sharding, offload, gathered] :
         {std::tuple{Sharding::zero_1, Offload::optimizer, shards},
          {Sharding::zero_2, Offload::optimizer, shards},
          {Sharding::full_shard, Offload::optimizer, shards},
          {Sharding::shard_grad_op, Offload::all, shards},
          {Sharding::full_shard, Offload::all, 2 * shards - last}}) {
      for (const int prefetch : {0, 1, 3}) {
        CAPTURE(static_cast<int>(sharding), static_cast<int>(offload), ranks, prefetch);
        const std::int64_t up = 8 * gathered, down = 8 * shards;
        test::on_fibers_with_strands(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
          CpuDevice device, host;
          const auto link = right_link(group, strands, host);
          ShardedUnits units(spec, 3, device, {group}, {sharding, prefetch, Cut::flat, offload},
                             link.get());
          const auto optimizer = optim::make_adamw(units.shards(), {});
          for (int k = 1; k <= 2; ++k) {
            step(units, *optimizer, group.rank(), device, k);  // k batches
            const std::int64_t again = offload == Offload::all ? k : 1;
            CHECK(units.copies().bytes == HostTraffic{k * down, again * up});
          }
          CHECK(units.copies_planned() == HostTraffic{down, up});
        });
      }
    }
  }
}

TEST_CASE("offload: of masters, what travels has the types of the passes and of the reduction") {
  nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  spec.dtype = DType::float32;
  test::on_fibers_with_strands(3, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device, host;
    std::int64_t shards = 0;
    for (std::int64_t unit = 0; unit < nn::unit_count(spec); ++unit) {
      shards += shard_elements(spec, unit, 3);
    }
    const auto link = right_link(group, strands, host);
    ShardedUnits units(
        spec, 3, device, {group},
        {Sharding::zero_2, 0, Cut::flat, Offload::optimizer, DType::float64, DType::bfloat16},
        link.get());
    const auto optimizer = optim::make_adamw(units.shards(), {});
    step(units, *optimizer, group.rank(), device);
    CHECK(units.copies().bytes == HostTraffic{2 * shards, 4 * shards});
    CHECK(units.copies_planned() == HostTraffic{2 * shards, 4 * shards});
    CHECK(device.bytes_now(MemoryKind::optimizer_state) == 0);
    std::int64_t owned = 0;
    for (const auto* one : units.owned()) owned += one->end - one->begin;
    // Two moments of what is owned, and masters of it and its padding.
    CHECK(host.bytes_now(MemoryKind::optimizer_state) == 8 * (2 * owned + shards));
    CHECK(host.bytes_now(MemoryKind::gradients) == 8 * shards);
    CHECK(host.bytes_now(MemoryKind::parameters) == 4 * shards);  // rounded, to come up
  });
}

TEST_CASE("offload: between steps the device has its shard of parameters, or nothing") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  for (const Offload offload : {Offload::optimizer, Offload::all}) {
    test::on_fibers_with_strands(4, [&](comm::ProcessGroup& group, Strands& strands) {
      CpuDevice device, host;
      std::int64_t shards = 0, largest = 0;
      for (std::int64_t unit = 0; unit < nn::unit_count(spec); ++unit) {
        const std::int64_t bytes = 8 * shard_elements(spec, unit, 4);
        shards += bytes;
        largest = std::max(largest, bytes);
      }
      const auto link = right_link(group, strands, host);
      ShardedUnits units(spec, 3, device, {group}, {Sharding::full_shard, 0, Cut::flat, offload},
                         link.get());
      const auto optimizer = optim::make_adamw(units.shards(), {});
      step(units, *optimizer, group.rank(), device);
      const bool all = offload == Offload::all;
      CHECK(device.bytes_now(MemoryKind::parameters) == (all ? 0 : shards));
      CHECK(device.bytes_now(MemoryKind::gradients) == 0);
      CHECK(device.bytes_peak(MemoryKind::optimizer_state) == 0);
      CHECK(host.bytes_now(MemoryKind::parameters) == shards);
      CHECK(host.bytes_now(MemoryKind::gradients) == shards);
      CHECK(host.bytes_now(MemoryKind::optimizer_state) == 2 * shards);
      // A whole unit and the shard that is fetched after it, or that of the unit itself.
      device.reset_peak();
      step(units, *optimizer, group.rank(), device);
      if (all) CHECK(device.bytes_peak(MemoryKind::parameters) <= (4 + 2) * largest);
    });
  }
}

TEST_CASE("offload: a copy takes its bytes over the link's rate, and hides behind backward") {
  nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  spec.gpt.layers = 12;
  sim::DeviceModel card{.name = "card", .memory_bytes = std::int64_t{1} << 30};
  card.peak_flops_s.fill(1e6);
  card.memory_bandwidth_bytes_s = 1e12;
  sim::DeviceModel share = card;
  share.memory_bandwidth_bytes_s = 1e6;
  share.peak_flops_s.fill(1e12);
  constexpr double rate = 1e6, start_s = 1e-3;
  for (const Offload offload : {Offload::optimizer, Offload::all}) {
    HostCopies copies;
    double update_s = 0;
    sim::Options options;
    options.ranks = 2;
    sim::Core core(options);
    const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
      const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
      constexpr auto none = comm::Elements::none;
      comm::SimulatedDevice device(self.port, self.rank, card, DType::float64, none);
      comm::SimulatedDevice host(self.port, self.rank, share, DType::float64, none);
      const auto carry = [&](std::int64_t bytes) {
        self.port.wait_until(self.port.now_s() + start_s + static_cast<double>(bytes) / rate);
      };
      const auto link = zero::make_host_link({host, carry}, &self.strands, *group);
      ShardedUnits units(spec, 3, device, {*group}, {Sharding::full_shard, 1, Cut::flat, offload},
                         link.get());
      const auto optimizer = optim::make_adamw(units.shards(), {});
      step(units, *optimizer, self.rank, device);
      units.zero_grad();
      pass(units, self.rank, device);
      const double began_s = group->now_s();
      optimizer->step();
      update_s = group->now_s() - began_s;
      units.end_update();
      if (self.rank == 0) copies = units.copies();
    });
    REQUIRE(!result.finding);
    std::int64_t shards = 0;
    for (std::int64_t unit = 0; unit < nn::unit_count(spec); ++unit) {
      shards += 8 * shard_elements(spec, unit, 2);
    }
    CHECK(std::abs(update_s - 7.0 * static_cast<double>(shards) / 1e6) < 1e-9);
    // What comes up for the first gathers of a step is waited for, and the last gradient down.
    CHECK(copies.exposed_s > start_s);
    CHECK(copies.exposed_s < 0.25 * copies.total_s);
    const auto last = static_cast<double>(8 * shard_elements(spec, nn::unit_count(spec) - 1, 2));
    const auto units = static_cast<double>(nn::unit_count(spec));
    // Of `optimizer`, those that came up are the step's before.
    const bool all = offload == Offload::all;
    const double bytes = (all ? 3 : 2) * static_cast<double>(shards) - (all ? last : 0);
    const double calls = all ? 3 * units - 1 : 2 * units;
    CHECK(std::abs(copies.total_s - (calls * start_s + bytes / rate)) < 1e-9);
  }
}

TEST_CASE("offload: parameters that are whole on every rank stay there, and a link is needed") {
  test::on_fibers_with_strands(2, [](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device, host;
    const auto link = right_link(group, strands, host);
    CHECK_THROWS_WITH(ShardedUnits(small_gpt(nn::OutputHead::tied), 3, device, {group},
                                   {Sharding::zero_2, 0, Cut::flat, Offload::all}, link.get()),
                      contains("offload the optimizer alone"));
    CHECK_THROWS_WITH(ShardedUnits(small_gpt(nn::OutputHead::tied), 3, device, {group},
                                   {Sharding::zero_2, 0, Cut::flat, Offload::optimizer}),
                      contains("over which link"));
  });
}
