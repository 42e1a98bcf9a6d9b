// What a wrong piece is told to be: only what its numbers bear out.
#include "grader/exam/ranks/dealt.hpp"

#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using Numbers = std::vector<double>;

const Numbers whole{0.3, -1.1, 0.7, 2.9};

// The first rank's piece is `seen`, and the second one's is right.
Cause told_of(const Dealt& deal, const Numbers& all, const Numbers& seen) {
  CaseRunner runner("made_up", {""}, {});
  const auto bytes = [](const Numbers& numbers) {
    const auto raw = std::as_bytes(std::span(numbers));
    return Bytes(raw.begin(), raw.end());
  };
  try {
    check_pieces(runner, Played{}, deal,
                 {.name = "the sum", .whole = all, .tolerance = Numbers(all.size(), 1e-12)},
                 {bytes(seen), bytes(deal.piece(1, all))});
  } catch (const Failure& failure) {
    return {failure.cause, failure.message};
  }
  return {};
}

// Two ranks have two of four elements each.
Cause told_of(const Numbers& seen) {
  return told_of(Dealt({{"x", 4}}, {{0, 1}, {2, 3}}), whole, seen);
}

}  // namespace

TEST_CASE("a wrong piece: a factor of all its elements is told as a factor") {
  CHECK(told_of({0.3, -1.1}).name.empty());
  const Cause twice = told_of({0.6, -2.2});
  CHECK(twice.name == "too_large");
  CHECK_THAT(twice.sentence, test::contains("2 times the right one: a sum over the ranks"));
  CHECK_THAT(told_of({0.9, -3.3}).sentence, !test::contains("a sum over the ranks"));
  CHECK_THAT(told_of({0.15, -0.55}).sentence,
             test::contains("1/2 of the right one: it is divided by the number of ranks"));
  CHECK(told_of({-0.09, 0.33}).name == "other_factor");
  CHECK(told_of({0.3 + 1e-9, -1.1}).name == "last_digits");
  CHECK(told_of({0, 0}).name == "all_zero");
  CHECK(told_of({0.6, -1.1}).name == "other_values");  // of one element only
}

TEST_CASE("a wrong piece: elements of other places are told as such, and others are not") {
  CHECK_THAT(told_of({-1.1, 0.3}).sentence, test::contains("this one is element 1 of x"));
  CHECK(told_of({-1.1, 0.7}).name == "moved");
  CHECK(told_of({0.7, 2.9}).name == "piece_of_another");
  CHECK(told_of({0.3 + 0.7, -1.1 + 2.9}).name == "pieces_summed");
  CHECK(told_of({0.11, 0.3}).name == "other_values");
}

TEST_CASE("a wrong piece that nothing explains: which ranks have it right is told") {
  CHECK_THAT(told_of({0.11, 0.3}).sentence, test::contains("all other ranks have it right"));
  CHECK_THAT(told_of({-1.1, 0.3}).sentence, !test::contains("other ranks"));
}

TEST_CASE("a wrong piece: rows of ranks that lie one behind the other are told from those beside") {
  const Dealt deal({{"x", 8}}, {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}});
  const Numbers beside{0.1, 0.2, 1.1, 1.2, 0.3, 0.4, 1.3, 1.4};  // two rows, of two from each rank
  CHECK(told_of(deal, beside, {0.1, 0.2, 0.3, 0.4, 1.1, 1.2, 1.3, 1.4}).name == "axes_exchanged");
  const Numbers behind{0.1, 0.2, 0.3, 1.1, 1.2, 1.3, 0.7, 0.9};
  CHECK(told_of(deal, behind, {0.1, 1.2, 0.2, 1.3, 0.3, 0.7, 1.1, 0.9}).name == "axes_exchanged");
  CHECK(told_of(deal, beside, {0.2, 0.1, 1.1, 1.2, 0.3, 0.4, 1.3, 1.4}).name == "other_places");
}
