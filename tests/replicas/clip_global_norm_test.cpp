// The norm of a gradient that lies in pieces on several ranks, beside that of one rank.
#include "engine/replicas/clip_global_norm.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_ranks;

namespace {

Tensor numbers(std::vector<double> values, Device& device) {
  return from_values(values, {std::ssize(values)}, DType::float64, device);
}

}  // namespace

TEST_CASE("clip_global_norm: pieces on four ranks are scaled as the whole on one") {
  // 1, 2, …, 8: squares that float64 sums exactly in any order. A norm of a rank's own two numbers,
  // or a sum of norms, scales otherwise.
  const double norm = std::sqrt(204.0), factor = 1.5 / (norm + 1e-6);
  on_ranks(4, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const double first = 2.0 * group.rank();
    const std::vector<Tensor> mine = {numbers({first + 1}, device), Tensor(),
                                      numbers({first + 2}, device)};
    const std::vector<Tensor> copies = {numbers({3}, device)};
    const std::array<comm::ProcessGroup*, 1> groups{&group};
    const Tensor seen = replicas::clip_global_norm(groups, {mine, copies}, 1.5);
    CHECK(seen.item() == norm);
    CHECK(mine[0].item() == (first + 1) * factor);
    CHECK(mine[2].item() == (first + 2) * factor);
    CHECK(copies[0].item() == 3 * factor);  // of two ranks: scaled by both, counted by one
  });
}

TEST_CASE("clip_global_norm: a small gradient is left alone, and so is one that is not finite") {
  CpuDevice device;
  const std::vector<Tensor> mine = {numbers({3, 4}, device)};
  CHECK(replicas::clip_global_norm({}, {mine, {}}, 6).item() == 5);
  CHECK(mine[0].item(1) == 4);
  CHECK(replicas::clip_global_norm({}, {mine, {}}, 0).item() == 5);
  CHECK(mine[0].item(1) == 4);
  const std::vector<Tensor> wild = {numbers({1, std::numeric_limits<double>::infinity()}, device)};
  CHECK(std::isinf(replicas::clip_global_norm({}, {wild, {}}, 1).item()));
  CHECK(wild[0].item(0) == 1);
}

TEST_CASE("clip_global_norm: without a gradient there is no norm, and no rank may be left out") {
  CHECK_FALSE(replicas::clip_global_norm({}, {}, 1).defined());
  on_ranks(1, [](comm::ProcessGroup& group) {
    const std::array<comm::ProcessGroup*, 1> groups{&group};
    CHECK_THROWS_WITH(replicas::clip_global_norm(groups, {}, 1),
                      contains("give each rank a piece"));
  });
}
