// How a failing case of a collective is made smaller.
#include <algorithm>

#include "grader/exam/collective/rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

std::int64_t least_count(const CollectiveProblem& p) {
  std::int64_t least = p.count;
  for (const CollectiveProblem& one : smaller_problems(p)) {
    if (one.size() == p.size()) least = std::min(least, one.count);
  }
  return least;
}

}  // namespace

TEST_CASE("a smaller case: an element for each rank stays, where there was one") {
  CollectiveProblem p;
  p.members = whole_world(3);
  p.count = 20;
  CHECK(least_count(p) == 3);
  p.count = 3;
  CHECK(least_count(p) == 3);
  p.count = 2;  // only such a case fails
  CHECK(least_count(p) == 2);
}
