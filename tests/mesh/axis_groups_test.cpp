// Groups of ranks along one axis of a mesh, and along several.
#include "engine/parallel/mesh/axis_groups.hpp"

#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_fibers;
using mesh::Axis;
using mesh::AxisSet;
using mesh::Mesh;
using mesh::ranks_along;

TEST_CASE("mesh: along several axes are the ranks that differ on no other") {
  const Mesh mesh =
      mesh::make_mesh(12, {.tp = 2, .cp = 3, .dp = 2}, mesh::usual_order);  // tp + 2·cp + 6·dp
  CHECK(ranks_along(mesh, {}, 7) == std::vector{7});
  CHECK(ranks_along(mesh, {Axis::cp}, 7) == std::vector{7, 9, 11});
  CHECK(ranks_along(mesh, {Axis::dp, Axis::cp}, 7) == std::vector{1, 3, 5, 7, 9, 11});
  CHECK(ranks_along(mesh, {Axis::tp, Axis::dp, Axis::pp}, 7) == std::vector{0, 1, 6, 7});
}

TEST_CASE("mesh: a group along axes has its ranks, in their order") {
  on_fibers(8, [](comm::ProcessGroup& world) {
    const mesh::AxisSizes sizes{.tp = 2, .dp = 2, .pp = 2};
    const Mesh mesh = mesh::make_mesh(8, sizes, mesh::usual_order);
    CHECK(mesh::place_of(world, sizes) == mesh.coordinates[static_cast<std::size_t>(world.rank())]);
    CpuDevice device;
    const std::vector<AxisSet> all_sets{
        {Axis::tp}, {Axis::dp}, {Axis::pp}, {Axis::tp, Axis::pp}, {Axis::tp, Axis::dp, Axis::pp},
        {}};
    for (const AxisSet axes : all_sets) {
      const auto group = mesh::split_along(world, sizes, axes);
      const std::vector<int> expected = ranks_along(mesh, axes, world.rank());
      REQUIRE(std::ssize(expected) == group->size());
      CHECK(expected[static_cast<std::size_t>(group->rank())] == world.rank());
      const Tensor all = empty({group->size()}, DType::int64, device);
      group->all_gather(full({1}, world.rank(), DType::int64, device), all);
      for (int i = 0; i < group->size(); ++i) {
        CHECK(all.item(i) == expected[static_cast<std::size_t>(i)]);
      }
    }
  });
}

TEST_CASE("mesh: a mesh of other ranks than the world's is refused before anything is connected") {
  on_fibers(2, [](comm::ProcessGroup& world) {
    CHECK_THROWS_WITH(mesh::split_along(world, {.tp = 4}, {Axis::tp}),
                      contains("is 4 ranks, but the world has 2"));
  });
}
