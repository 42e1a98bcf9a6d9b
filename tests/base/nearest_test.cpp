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
  CHECK(nearest("abxx", std::vector<std::string>{"abcd", "abef"}) == "abcd");
  CHECK(nearest("ring", std::vector<std::string>{}) == std::nullopt);
}

TEST_CASE("nearest: else the first that begins with the word") {
  const std::vector<std::string> names = {"tree", "ring_all_reduce", "ring_all_gather"};
  CHECK(nearest("ring", names) == "ring_all_reduce");
  CHECK(nearest("ri", names) == std::nullopt);
}

TEST_CASE("nearest: a word that resembles nothing is answered with nothing") {
  const std::vector<std::string> names = {"native", "ring", "tree"};
  CHECK(nearest("rixx", names) == "ring");
  CHECK(nearest("rxxx", names) == std::nullopt);
  CHECK(nearest("zzzz", names) == std::nullopt);
  CHECK(nearest("", names) == std::nullopt);
  CHECK(did_you_mean("zzzz", names) == "");
  CHECK(did_you_mean("rinng", names, "--") == "; did you mean --ring?");
}
