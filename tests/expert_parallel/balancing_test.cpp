// The loss that balances experts: by hand, over ranks, and its gradient by differences.
#include <cmath>

#include "engine/base/random.hpp"
#include "engine/parallel/expert/load_balancing_loss.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using namespace lockstep::expert_parallel;

TEST_CASE("balancing loss: alpha where all are chosen alike, alpha E where one has all tokens") {
  test::on_fibers(2, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const Tensor even = full({4, 2}, 0.5, DType::float64, device);
    // Each rank by itself is as uneven as can be; together they are even.
    const std::vector<std::int64_t> first(4, world.rank());
    const BalancingLoss balanced = load_balancing_loss(world, even, first, 0.01);
    CHECK(std::fabs(balanced.loss - 0.01) < 1e-16);
    const Tensor one = from_values(std::vector<double>{1, 0, 1, 0}, {2, 2}, DType::float64, device);
    const std::vector<std::int64_t> zero(2, 0);
    CHECK(std::fabs(load_balancing_loss(world, one, zero, 0.01).loss - 0.02) < 1e-16);
    // Ranks whose shares differ: f = (3/4, 1/4) and P = (5/8, 3/8), so 2·(15 + 3)/32.
    const std::vector<std::int64_t> chosen{0, world.rank()};
    const Tensor mixed = from_values(world.rank() == 0 ? std::vector<double>{1, 0, 0.5, 0.5}
                                                       : std::vector<double>{0.5, 0.5, 0.5, 0.5},
                                     {2, 2}, DType::float64, device);
    const BalancingLoss seen = load_balancing_loss(world, mixed, chosen, 1);
    CHECK(std::fabs(seen.loss - 1.125) < 1e-15);
    CHECK(std::fabs(seen.gradient.item(0) - 2 * 0.75 / 4) < 1e-15);
    CHECK(std::fabs(seen.gradient.item(3) - 2 * 0.25 / 4) < 1e-15);
  });
}

TEST_CASE("balancing loss: a rank without tokens takes part, a wrong expert is refused") {
  test::on_fibers(3, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const std::int64_t tokens = world.rank() == 1 ? 0 : 2;
    const Tensor even = full({tokens, 4}, 0.25, DType::float32, device);
    const std::vector<std::int64_t> first(static_cast<std::size_t>(tokens), 1);
    const BalancingLoss seen = load_balancing_loss(world, even, first, 0.5);
    CHECK(std::fabs(seen.loss - 0.5) < 1e-7);
    CHECK(seen.gradient.shape() == Shape({tokens, 4}));
    CHECK(seen.gradient.dtype() == DType::float32);
    const std::int64_t before = world.traffic().bytes_sent;
    const std::vector<std::int64_t> wrong(static_cast<std::size_t>(tokens), 4);
    if (tokens > 0) CHECK_THROWS_AS(load_balancing_loss(world, even, wrong, 1), ContractError);
    CHECK(world.traffic().bytes_sent == before);
  });
}
