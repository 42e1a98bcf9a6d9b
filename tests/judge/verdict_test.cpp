// Verdicts on runs in which the simulator found something.
#include "grader/judge/verdict.hpp"

#include <set>

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

TEST_CASE("a verdict on a finding has the finding's name, and no two are the same") {
  std::set<Verdict> seen;
  int kinds = 0;
  for (; kinds <= static_cast<int>(sim::FindingKind::infrastructure); ++kinds) {
    const auto kind = static_cast<sim::FindingKind>(kinds);
    CHECK(name_of(verdict_of(kind)) == name_of(kind));
    seen.insert(verdict_of(kind));
  }
  CHECK(seen.size() == static_cast<std::size_t>(kinds));
  CHECK_FALSE(seen.contains(Verdict::pass));
}
