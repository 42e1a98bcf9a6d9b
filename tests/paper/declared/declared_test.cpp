// The headers of cuBLAS and NCCL that paper declares, beside NVIDIA's: same values, same
// signatures.
#include "tests/catch.hpp"
#include "tests/paper/declared/facts.hpp"

TEST_CASE("paper: what it declares of cuBLAS and NCCL is what NVIDIA's headers say") {
  const auto theirs = facts_of_nvidia(), ours = facts_of_paper();
  CHECK(ours.size() > 50);
  CHECK(ours.size() == theirs.size());
  for (const auto& [name, fact] : theirs) {
    CAPTURE(name);
    REQUIRE(ours.contains(name));
    CHECK(ours.at(name) == fact);
  }
}
