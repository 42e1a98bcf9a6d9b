#include "grader/judge/wrong_values.hpp"

#include <cmath>
#include <limits>

#include "grader/judge/causes.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using List = std::vector<double>;

// Three ranks bring six elements each; the sum is expected.
struct Sum {
  List own = {1, 2, 3, 4, 5, 6}, second = {10, 20, 30, 40, 50, 60},
       third = {100, 200, 300, 400, 500, 600};
  List expected = {111, 222, 333, 444, 555, 666};
  List previous = {7, 7, 7, 8, 8, 8};

  WrongValues values(const List& seen, const List& tolerance = {}) const {
    return {.seen = seen,
            .expected = expected,
            .tolerance = tolerance,
            .rank = 0,
            .ranks = 3,
            .inputs = {own, second, third},
            .previous = previous};
  }
  std::string cause(const List& seen) const {
    const auto found = likely_cause(values(seen), 0);
    return found ? found->name : "";
  }
};

}  // namespace

TEST_CASE("wrong values: a factor of N, either way") {
  const Sum sum;
  CHECK(is_scaled(sum.values({37, 74, 111, 148, 185, 222}), 1.0 / 3));
  CHECK(is_scaled(sum.values({333, 666, 999, 1332, 1665, 1998}), 3));
  CHECK_FALSE(is_scaled(sum.values({333, 666, 999, 1332, 1665, 1999}), 3));
}

TEST_CASE("wrong values: own data, a missing rank, a rank that came twice, an earlier call") {
  const Sum sum;
  CHECK(sum.cause(sum.own) == "unchanged");
  CHECK(sum.cause({101, 202, 303, 404, 505, 606}) == "rank_missing");
  CHECK_THAT(one_rank_wrong(sum.values({101, 202, 303, 404, 505, 606}))->sentence,
             test::contains("rank 1's"));
  CHECK(sum.cause({211, 422, 633, 844, 1055, 1266}) == "rank_twice");
  CHECK(sum.cause(sum.previous) == "stale");
}

TEST_CASE("wrong values: blocks one place on, in another order, and columns for rows") {
  const Sum sum;
  CHECK(sum.cause({333, 444, 555, 666, 111, 222}) == "off_by_one_chunk");
  CHECK(sum.cause({555, 666, 111, 222, 333, 444}) == "off_by_one_chunk");
  CHECK(sum.cause({333, 444, 111, 222, 555, 666}) == "permuted");
  CHECK(sum.cause({111, 333, 555, 222, 444, 666}) == "transposed");
}

TEST_CASE("wrong values: only what N equal blocks leave over is wrong") {
  const List expected{1, 2, 3, 4, 5}, seen{1, 2, 3, 0, 0};
  const WrongValues values{.seen = seen, .expected = expected, .tolerance = {}, .ranks = 3};
  REQUIRE(tail_missing(values));
  CHECK_THAT(tail_missing(values)->sentence, test::contains("the last 2 elements"));
  const List first_wrong{0, 2, 3, 4, 5};
  CHECK_FALSE(
      tail_missing({.seen = first_wrong, .expected = expected, .tolerance = {}, .ranks = 3}));
}

TEST_CASE("wrong values: nearly right everywhere is rounding, but not where a NaN is") {
  const Sum sum;
  const List tolerance(6, 1e-6);
  CHECK(rounding_only(sum.values({111.01, 222, 333, 444, 555, 666}, tolerance))->name == "rounded");
  CHECK_FALSE(rounding_only(sum.values({11, 222, 333, 444, 555, 666}, tolerance)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(rounding_only(sum.values({111, nan, 333, 444, 555, 666}, tolerance)));
  CHECK_FALSE(rounding_only(sum.values({112, 222, 333, 444, 555, 666})));  // exact
}

TEST_CASE("wrong values: memory that nobody wrote to") {
  const Sum sum;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(sum.cause({nan, 222, 333, 444, 555, 666}) == "unwritten");
  CHECK(sum.cause({-1, 222, 333, 444, 555, 666}) == "unwritten");
}

TEST_CASE("wrong values: numbers that no story explains are left without one") {
  const Sum sum;
  CHECK(sum.cause({5, 4, 3, 2, 1, 0}).empty());
  CHECK(sum.cause({111}).empty());
  CHECK(sum.cause({}).empty());
}

TEST_CASE("causes: each has one meaning, and what a classifier finds is among them") {
  std::vector<std::string_view> names;
  for (const CauseMeaning& cause : common_causes()) names.push_back(cause.name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const char* found :
       {"unchanged", "rank_missing", "rank_twice", "stale", "permuted", "off_by_one_chunk",
        "transposed", "tail_lost", "rounded", "unwritten"}) {
    INFO(found);
    CHECK_FALSE(meaning_of_cause(found).empty());
  }
  CHECK(meaning_of_cause("no such cause").empty());
}

TEST_CASE("wrong values: all of a narrower type, and right to its digits, name that type") {
  const List right = {1.0 / 3, -2.0 / 7, 5.0 / 11, 0};
  const auto of = [&](int bits) {
    List seen = right;
    for (double& value : seen) {
      int exponent = 0;
      const double digits = std::frexp(value, &exponent);
      value = std::ldexp(std::nearbyint(std::ldexp(digits, bits)), exponent - bits);
    }
    return seen;
  };
  CHECK(narrower_type(of(8), right)->sentence.find("one of bfloat16") != std::string::npos);
  CHECK(narrower_type(of(11), right)->sentence.find("one of float16") != std::string::npos);
  CHECK(narrower_type(of(24), right)->sentence.find("one of float32") != std::string::npos);
  List other = of(8);
  other[1] *= 1.5;
  CHECK(!narrower_type(other, right));
  CHECK(!narrower_type(right, right));
}
