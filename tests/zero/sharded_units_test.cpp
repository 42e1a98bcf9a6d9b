// The plans executed: what a step computes, sends and keeps, on ranks of the simulator.
#include "engine/parallel/zero/sharded_units.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"
#include "tests/zero/small_gpt.hpp"

using namespace lockstep;
using lockstep::test::loss_of;
using lockstep::test::on_fibers;
using lockstep::test::pass;
using lockstep::test::small_gpt;
using zero::Reduces;
using zero::ShardedUnits;
using zero::Sharding;

namespace {

// The mean over `ranks` of the gradients of a whole model, by name.
std::map<std::string, std::vector<double>> expected_gradients(const nn::ModelSpec& spec,
                                                              int ranks) {
  CpuDevice device;
  const auto model = nn::make_units(spec, device, 3, {0, nn::unit_count(spec)});
  std::map<std::string, std::vector<double>> mean;
  for (int rank = 0; rank < ranks; ++rank) {
    Tape tape(GradMode::record);
    tape.backward(autograd::scale(tape, loss_of(*model, tape, rank, device), 1.0 / ranks));
  }
  for (const Parameter* p : model->parameters()) {
    const auto numbers = p->grad.data<double>();
    mean[p->name].assign(numbers.begin(), numbers.end());
  }
  return mean;
}

constexpr Sharding executed_shardings[] = {Sharding::no_shard, Sharding::zero_1, Sharding::zero_2,
                                           Sharding::shard_grad_op, Sharding::full_shard};

// Splits as the strategy does, into groups of k.
struct Groups {
  Groups(comm::ProcessGroup& world, int k)
      : shards(world.split(world.rank() / k, world.rank())),
        copies(world.split(world.rank() % k, world.rank())) {}
  zero::ShardGroups both() const { return {*shards, copies->size() > 1 ? copies.get() : nullptr}; }
  std::unique_ptr<comm::ProcessGroup> shards, copies;
};

void check_gradients(ShardedUnits& units, const nn::ModelSpec& spec, int ranks, double times) {
  const auto expected = expected_gradients(spec, ranks);
  for (const ShardedUnits::Owned* owned : units.owned()) {
    const auto& whole = expected.at(owned->parameter.name);
    CAPTURE(owned->parameter.name, owned->begin, owned->end);
    for (std::int64_t i = owned->begin; i < owned->end; ++i) {
      const double seen = owned->parameter.grad.item(i - owned->begin);
      CHECK(std::abs(seen - times * whole[static_cast<std::size_t>(i)]) <= 1e-14);
    }
  }
}

}  // namespace

TEST_CASE("sharded units: each rank has its range of the mean gradient, padding stays zero") {
  const auto head = GENERATE(nn::OutputHead::tied, nn::OutputHead::untied);
  const nn::ModelSpec spec = small_gpt(head);
  for (const Sharding sharding : executed_shardings) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      CAPTURE(static_cast<int>(sharding), ranks);
      on_fibers(ranks, [&](comm::ProcessGroup& world) {
        CpuDevice device;
        const Groups groups(world, sharding == Sharding::no_shard ? 1 : ranks);
        ShardedUnits units(spec, 3, device, groups.both(), {sharding, world.size() % 3});
        pass(units, world.rank(), device);
        check_gradients(units, spec, ranks, 1);
        std::int64_t elements = 0, sums = 0;
        for (const ShardedUnits::Owned* owned : units.owned())
          elements += owned->end - owned->begin;
        for (const Tensor& sum : units.gradients()) {
          for (std::int64_t i = 0; i < sum.numel(); ++i) sums += sum.item(i) != 0 ? 1 : 0;
        }
        CHECK(sums <= elements);
      });
    }
  }
}

TEST_CASE(
    "sharded units: by rows, each rank has its rows of the mean gradient, also of two passes") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::tied);
  for (const Sharding sharding : {Sharding::shard_grad_op, Sharding::full_shard}) {
    for (const Reduces first : {Reduces::yes, Reduces::no}) {
      for (const int ranks : {1, 2, 3, 5}) {
        CAPTURE(static_cast<int>(sharding), static_cast<int>(first), ranks);
        on_fibers(ranks, [&](comm::ProcessGroup& world) {
          CpuDevice device;
          ShardedUnits units(spec, 3, device, {world}, {sharding, 1, zero::Cut::rows});
          pass(units, world.rank(), device, first);
          pass(units, world.rank(), device);
          check_gradients(units, spec, ranks, 2);
        });
      }
    }
  }
}

TEST_CASE("sharded units: rows are not cut where parameters are whole on every rank") {
  on_fibers(2, [](comm::ProcessGroup& world) {
    CpuDevice device;
    CHECK_THROWS_WITH(ShardedUnits(small_gpt(nn::OutputHead::tied), 3, device, {world},
                                   {Sharding::zero_1, 0, zero::Cut::rows}),
                      lockstep::test::contains("cut ranges of the flat tensor"));
  });
}

TEST_CASE("sharded units: in groups of two with copies, the mean is over all ranks") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::tied);
  on_fibers(4, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const Groups groups(world, 2);
    ShardedUnits units(spec, 3, device, groups.both(), {Sharding::full_shard, 1});
    pass(units, world.rank(), device);
    check_gradients(units, spec, 4, 1);
    const std::int64_t shard_bytes = groups.shards->traffic().bytes_sent;
    CHECK(shard_bytes == units.bytes_planned());
  });
}

namespace {

// Notes when a collective is started and when it is waited for.
class NotedWait final : public comm::Pending {
 public:
  NotedWait(comm::Work work, std::string name, std::vector<std::string>& notes)
      : work_(std::move(work)), name_(std::move(name)), notes_(notes) {}
  void wait() override {
    notes_.push_back("waits for " + name_);
    work_.wait();
  }

 private:
  comm::Work work_;
  std::string name_;
  std::vector<std::string>& notes_;
};

}  // namespace

TEST_CASE("sharded units: copies are reduced while the next units' backward passes run") {
  on_fibers(4, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const Groups groups(world, 2);
    std::vector<std::string> notes;
    ShardedUnits units(small_gpt(nn::OutputHead::untied), 3, device, groups.both(), {});
    units.set_watch([&](const collectives::UnderWay& what, comm::Work work) {
      notes.push_back("starts " + what.name);
      return comm::Work(std::make_unique<NotedWait>(std::move(work), what.name, notes));
    });
    pass(units, world.rank(), device);
    const auto at = [&](const std::string& note) {
      CAPTURE(note);
      REQUIRE(std::ranges::count(notes, note) == 1);
      return std::ranges::find(notes, note);
    };
    for (int unit = 4; unit >= 0; --unit) {
      const std::string across = text("all_reduce of unit ", unit);
      CHECK(at("starts " + across) > at(text("waits for reduce_scatter of unit ", unit)));
      CHECK(at("waits for " + across) > at("starts " + across));
      if (unit < 2) continue;
      // Two more passes are over, and the second one's gradients are on their way.
      CHECK(at("waits for " + across) > at(text("starts reduce_scatter of unit ", unit - 2)));
      CHECK(at("waits for " + across) < at(text("starts reduce_scatter of unit ", unit - 2)) + 4);
    }
  });
}

TEST_CASE("sharded units: gradients of two passes add up, reduced each time or once") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::tied);
  for (const Sharding sharding : executed_shardings) {
    std::int64_t sent[2] = {};
    for (const Reduces first : {Reduces::yes, Reduces::no}) {
      CAPTURE(static_cast<int>(sharding), static_cast<int>(first));
      on_fibers(3, [&](comm::ProcessGroup& world) {
        CpuDevice device;
        const Groups groups(world, sharding == Sharding::no_shard ? 1 : 3);
        ShardedUnits units(spec, 3, device, groups.both(), {sharding, 1});
        pass(units, world.rank(), device, first);
        pass(units, world.rank(), device);
        check_gradients(units, spec, 3, 2);
        if (world.rank() == 0) {
          sent[first == Reduces::yes ? 0 : 1] =
              groups.shards->traffic().bytes_sent + groups.copies->traffic().bytes_sent;
        }
      });
    }
    CHECK(sent[0] > sent[1]);
  }
}

TEST_CASE("sharded units: a step sends 2, 2 or 3 times (N-1)/N of the parameters") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  for (const Sharding sharding : executed_shardings) {
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(static_cast<int>(sharding), ranks);
      on_fibers(ranks, [&](comm::ProcessGroup& world) {
        CpuDevice device;
        const bool none = sharding == Sharding::no_shard;
        const Groups groups(world, none ? 1 : ranks);
        ShardedUnits units(spec, 3, device, groups.both(), {sharding, 1});
        pass(units, world.rank(), device);
        units.end_update();
        // Every unit of this model is a multiple of eight elements.
        const auto whole = nn::make_model(spec, device, 3);
        const std::int64_t all = nn::count_of(*whole) * 8;
        const std::int64_t last =
            nn::count_of(*nn::make_units(spec, device, 3, {nn::unit_count(spec) - 1, 1})) * 8;
        const std::int64_t times = sharding == Sharding::full_shard ? 3 : 2;
        const std::int64_t kept = sharding == Sharding::full_shard ? last : 0;
        const std::int64_t sent = (none ? groups.copies : groups.shards)->traffic().bytes_sent;
        CHECK(sent == (times * all - kept) * (ranks - 1) / ranks);
        if (!none) CHECK(sent == units.bytes_planned());
      });
    }
  }
}

TEST_CASE("sharded units: beside its shards, a rank holds the units that run and come next") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  for (const int prefetch : {0, 1, 2}) {
    CAPTURE(prefetch);
    on_fibers(4, [&](comm::ProcessGroup& world) {
      CpuDevice device;
      std::vector<std::int64_t> sizes;
      for (std::int64_t i = 0; i < nn::unit_count(spec); ++i) {
        sizes.push_back(nn::count_of(*nn::make_units(spec, device, 3, {i, 1})) * 8);
      }
      std::int64_t all = 0;
      for (const std::int64_t size : sizes) all += size;
      std::ranges::sort(sizes, std::greater{});
      std::int64_t alive = 0;
      for (int k = 0; k <= prefetch; ++k) alive += sizes[static_cast<std::size_t>(k)];

      device.reset_peak();
      ShardedUnits units(spec, 3, device, {world}, {Sharding::full_shard, prefetch});
      CHECK(device.bytes_peak(MemoryKind::parameters) <= all / 4 + sizes[0]);
      CHECK(device.bytes_now(MemoryKind::parameters) == all / 4);
      device.reset_peak();
      pass(units, world.rank(), device);
      CHECK(device.bytes_peak(MemoryKind::parameters) == all / 4 + alive);
      CHECK(device.bytes_now(MemoryKind::parameters) == all / 4);
      CHECK(device.bytes_now(MemoryKind::gradients) == all / 4);
      // Of the unit that runs and the one whose reduction goes on.
      CHECK(device.bytes_peak(MemoryKind::gradients) <= all / 4 + sizes[0] + sizes[1]);
    });
  }
}

TEST_CASE("sharded units: whole gradients are kept by ZeRO 1 and freed by ZeRO 2") {
  const nn::ModelSpec spec = small_gpt(nn::OutputHead::untied);
  on_fibers(4, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto of_gradients = [&](Sharding sharding) {
      ShardedUnits units(spec, 3, device, {world}, {sharding, 0});
      pass(units, world.rank(), device);
      return device.bytes_now(MemoryKind::gradients);
    };
    CHECK(of_gradients(Sharding::zero_1) == 4 * of_gradients(Sharding::zero_2));
  });
}

TEST_CASE("sharded units: a rank without a parameter has a gradient for the norm, of zeros") {
  nn::ModelSpec spec;
  spec.dtype = DType::float64;
  spec.widths = {1, 1};
  on_fibers(5, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    ShardedUnits units(spec, 3, device, {world}, {Sharding::full_shard, 0});
    units.begin(Reduces::yes);
    Tape tape(GradMode::record);
    const Tensor x = from_values(std::vector<double>{2}, {1, 1}, DType::float64, device);
    tape.backward(autograd::sum(tape, units.model().forward(tape, tape.constant(x))));
    units.end_backward();
    CHECK(units.owned().size() == (world.rank() < 2 ? 1 : 0));
    REQUIRE(units.gradients().size() == 1);
    const double expected[] = {2, 1, 0, 0, 0};
    CHECK(std::abs(units.gradients()[0].item() - expected[world.rank()]) <= 1e-15);
  });
}
