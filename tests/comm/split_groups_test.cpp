#include "engine/comm/split_groups.hpp"

#include <climits>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;

TEST_CASE("split groups: members know each other in one order, and share out the ranks") {
  const std::vector<ColorKey> named{{7, 9},        {7, 0},       {2, 4},      {7, 9},
                                    {no_color, 0}, {2, INT_MAX}, {2, INT_MIN}};
  std::vector<int> seen(named.size(), 0);
  for (int rank = 0; rank < static_cast<int>(named.size()); ++rank) {
    const auto plan = split_groups(named, rank);
    if (named[static_cast<std::size_t>(rank)].color == no_color) {
      CHECK_FALSE(plan);
      continue;
    }
    REQUIRE(plan);
    CHECK(plan->members.at(static_cast<std::size_t>(plan->rank)) == rank);
    ++seen[static_cast<std::size_t>(rank)];
    for (const int member : plan->members)
      CHECK(split_groups(named, member)->members == plan->members);
  }
  CHECK(seen == std::vector<int>{1, 1, 1, 1, 0, 1, 1});
  CHECK(split_groups(named, 0) == GroupPlan{{1, 0, 3}, 1});
  CHECK(split_groups(named, 5) == GroupPlan{{6, 2, 5}, 2});
}

TEST_CASE("split groups: a rank or a color that does not exist is refused") {
  const std::vector<ColorKey> named{{0, 0}, {0, 0}};
  CHECK_THROWS_AS(split_groups(named, 2), ContractError);
  CHECK_THROWS_AS(split_groups(named, -1), ContractError);
  CHECK_THROWS_AS(split_groups(std::vector<ColorKey>{{-2, 0}}, 0), ContractError);
}
