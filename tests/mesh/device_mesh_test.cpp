// Ranks as points of a mesh, and the groups of each axis.
#include "engine/parallel/mesh/device_mesh.hpp"

#include <set>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using mesh::Axis;
using mesh::AxisSizes;
using mesh::Coordinates;
using mesh::Groups;
using mesh::make_mesh;
using mesh::Mesh;
using mesh::usual_order;

TEST_CASE("mesh: 16 ranks with tp 2, dp 2 and pp 4 have Megatron's groups") {
  const Mesh mesh = make_mesh(16, {.tp = 2, .dp = 2, .pp = 4}, usual_order);
  CHECK(mesh.along(Axis::tp) ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(mesh.along(Axis::dp) ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(mesh.along(Axis::pp) ==
        Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  CHECK(mesh.coordinates[11] == Coordinates{.tp = 1, .dp = 1, .pp = 2});
}

TEST_CASE("mesh: 8 nodes of 8 with tp 4, dp 8 and pp 2 keep tp inside a node") {
  const Mesh mesh = make_mesh(64, {.tp = 4, .dp = 8, .pp = 2}, usual_order);
  for (const std::vector<int>& group : mesh.along(Axis::tp)) {
    CHECK(group.front() / 8 == group.back() / 8);
  }
  CHECK(mesh.along(Axis::dp).front() == std::vector{0, 4, 8, 12, 16, 20, 24, 28});
  CHECK(mesh.along(Axis::pp).back() == std::vector{31, 63});
}

TEST_CASE("mesh: the order says which axis is fastest") {
  const mesh::AxisOrder order{Axis::pp, Axis::dp, Axis::ep, Axis::cp, Axis::tp};
  const Mesh mesh = make_mesh(6, {.tp = 2, .pp = 3}, order);
  CHECK(mesh.along(Axis::pp) == Groups{{0, 1, 2}, {3, 4, 5}});
  CHECK(mesh.along(Axis::tp) == Groups{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("mesh: no two ranks have one place, and each is once on every axis") {
  const std::vector<AxisSizes> worlds{{},
                                      {.tp = 2},
                                      {.pp = 5},
                                      {.cp = 3, .dp = 2},
                                      {.tp = 2, .ep = 3, .dp = 2},
                                      {.tp = 2, .cp = 3, .ep = 2, .dp = 2, .pp = 3}};
  for (const AxisSizes& sizes : worlds) {
    const int world = sizes.tp * sizes.cp * sizes.ep * sizes.dp * sizes.pp;
    CAPTURE(world);
    const Mesh mesh = make_mesh(world, sizes, usual_order);
    std::set<std::vector<int>> places;
    for (const Coordinates& at : mesh.coordinates) {
      places.insert({at.tp, at.cp, at.ep, at.dp, at.pp});
    }
    CHECK(std::ssize(places) == world);
    for (const Axis axis : usual_order) {
      std::multiset<int> ranks;
      for (const std::vector<int>& group : mesh.along(axis)) {
        CHECK(std::ssize(group) == sizes[axis]);
        for (int place = 0; place < sizes[axis]; ++place) {
          const int rank = group[static_cast<std::size_t>(place)];
          ranks.insert(rank);
          Coordinates expected = mesh.coordinates[static_cast<std::size_t>(group.front())];
          expected[axis] = place;
          CHECK(mesh.coordinates[static_cast<std::size_t>(rank)] == expected);
        }
      }
      CHECK(std::ssize(ranks) == world);
      CHECK(std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size());
    }
  }
}

TEST_CASE("mesh: sizes that do not make the world, and no sizes, are refused with their numbers") {
  const auto make = [](int world, const AxisSizes& sizes) {
    return make_mesh(world, sizes, usual_order);
  };
  CHECK_THROWS_WITH(make(16, {.tp = 2, .dp = 2, .pp = 2}),
                    contains("tp 2 · cp 1 · ep 1 · dp 2 · pp 2 is 8 ranks, but the world has 16"));
  CHECK_THROWS_WITH(make(3, {.tp = 2}), contains("is 2 ranks, but the world has 3"));
  CHECK_THROWS_WITH(make(0, {}), contains("is 1 ranks, but the world has 0"));
  CHECK_THROWS_WITH(make(4, {.tp = -2, .dp = -2}), contains("axis tp has size -2"));
  CHECK_THROWS_WITH(make(2, {.tp = 2, .ep = 0}), contains("axis ep has size 0"));
  constexpr int many = 1 << 30;
  CHECK_THROWS_WITH(make(1, {.tp = many, .cp = many, .ep = many, .dp = many, .pp = many}),
                    contains("but the world has 1"));
  CHECK_THROWS_WITH(make_mesh(1, {}, {Axis::tp, Axis::cp, Axis::tp, Axis::dp, Axis::pp}),
                    contains("the order names axis tp twice"));
}
