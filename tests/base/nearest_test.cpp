#include "engine/base/nearest.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;

TEST_CASE("edit distance: inserts, deletes, replacements and swaps of neighbours cost one each") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "ring") == 4);
  CHECK(edit_distance("ring", "") == 4);
  CHECK(edit_distance("ring", "ring") == 0);
  CHECK(edit_distance("rng", "ring") == 1);
  CHECK(edit_distance("rings", "ring") == 1);
  CHECK(edit_distance("rind", "ring") == 1);
  CHECK(edit_distance("rign", "ring") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("nearest: the closest candidate wins, the first of equals") {
  const std::vector<std::string> names = {"native", "ring", "tree"};
  CHECK(nearest("rinng", names) == "ring");
  CHECK(nearest("tre", names) == "tree");
  CHECK(nearest("zzzz", std::vector<std::string>{"abcd", "efgh"}) == "abcd");
  CHECK(nearest("ring", std::vector<std::string>{}).empty());
}
