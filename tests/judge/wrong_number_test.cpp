#include "grader/judge/wrong_number.hpp"

#include "grader/exam/function/wrong_ending.hpp"
#include "grader/exam/ranks/lost_peer_rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

std::string cause(double seen, double expected, const std::vector<double>& earlier = {}) {
  const auto found = likely_cause(WrongNumber{seen, expected, earlier});
  return found ? found->name : "";
}

std::string cause_of_integer(std::int64_t seen, std::int64_t expected,
                             const std::vector<std::int64_t>& earlier = {}) {
  const auto found = likely_cause(WrongInteger{seen, expected, earlier});
  return found ? found->name : "";
}

}  // namespace

TEST_CASE("wrong number: an answer to an earlier question") {
  CHECK(cause(3.5, 7.25, {3.5}) == "stale");
  CHECK(cause(3.5, 7.25, {3.5, 1.5}) == "stale");
  CHECK_THAT(likely_cause(WrongInteger{12, 40, std::vector<std::int64_t>{12, 30}})->sentence,
             test::contains("2 before this one"));
  CHECK(cause(0, 7.25, {0}) == "");  // right for many questions
  CHECK(cause_of_integer(12, 40, {12}) == "stale");
  CHECK(cause_of_integer(13, 40, {12}) == "");
}

TEST_CASE("wrong number: digits that a float has no room for") {
  CHECK(cause(static_cast<double>(0.1F), 0.1) == "rounded");
  CHECK(cause(0.1001, 0.1) == "");
  CHECK(cause_of_integer(static_cast<std::int64_t>(123456789.0F), 123456789) == "rounded");
  CHECK(cause_of_integer((std::int64_t{1} << 60) + 256, (std::int64_t{1} << 60) + 255) ==
        "rounded");
  const auto of_double = likely_cause(WrongInteger{1L << 53, (1L << 53) + 1, {}});
  CHECK(of_double->sentence.find("went through a double") != std::string::npos);
  CHECK(cause_of_integer(1001, 1000) == "");
}

TEST_CASE("wrong number: beyond what an int holds") {
  const std::int64_t large = 175'000'000'000;
  CHECK(cause_of_integer(static_cast<std::int32_t>(large), large) == "overflow");
  CHECK(cause_of_integer(static_cast<std::uint32_t>(large), large) == "overflow");
  CHECK(cause_of_integer(-5, large) == "overflow");
  CHECK(cause_of_integer(-5, 12) == "");
  CHECK(cause(static_cast<double>(static_cast<std::int32_t>(large)), static_cast<double>(large)) ==
        "overflow");
}

TEST_CASE("wrong number: a quotient of integers lost its fraction") {
  CHECK(cause(7, 53.0 / 7) == "integer_division");
  CHECK(cause(-7, -53.0 / 7) == "integer_division");
  CHECK(cause(8, 53.0 / 7) == "");
  CHECK(cause(0, 0.25) == "");  // right for many questions
}

TEST_CASE("endings: what was thrown is said by its type") {
  const auto ending = ending_of<ContractError>([] { throw std::length_error("too many bytes"); });
  REQUIRE(ending.kind == Ending::Kind::threw_other);
  const Failure failure = wrong_ending(ending, "ContractError", "3 ranks on nodes of 2");
  CHECK(failure.cause == "wrong_error");
  CHECK_THAT(failure.message,
             test::contains("threw std::length_error (\"too many bytes\") for 3 ranks on "
                            "nodes of 2 where ContractError was expected"));
  CHECK(wrong_ending(ending_of<Error>([] {}), "Error", "0 ranks").cause == "not_refused");
  CHECK(ending_of<Error>([] { throw ContractError("no"); }).kind == Ending::Kind::threw_expected);
  CHECK(ending_of<Error>([] { throw 3; }).kind == Ending::Kind::threw_other);
  CHECK_THROWS_AS(ending_of<Error>([] { throw NotImplemented("ring"); }), NotImplemented);
}

TEST_CASE("a lost peer: only CommError, or a whole result that needed none of it") {
  const Results killed({{}, {}}, {0}), all_live({{}, {}}, {});
  const LostPeerEnding threw{{Ending::Kind::threw_expected, "CommError", "gone"}, "gone"};
  CHECK_FALSE(failure_of(threw, 1, killed));
  CHECK(failure_of(threw, 1, all_live)->cause == "nobody_lost");
  CHECK_FALSE(failure_of(LostPeerEnding{{}, ""}, 1, killed));
  CHECK(failure_of(LostPeerEnding{{}, "rank 0 was killed"}, 1, killed)->cause == "peer_lost");
  const LostPeerEnding other{{Ending::Kind::threw_other, "std::runtime_error", "x"}, "gone"};
  CHECK(failure_of(other, 1, killed)->cause == "wrong_error");
}

TEST_CASE("a failure's gist is its sentence without numbers") {
  Failure a, b;
  a.cause = b.cause = "rank_missing";
  a.message = "element 3 is 7 where 9 was expected; likely cause: rank 12's value is missing";
  b.message = "element 0 is 1 where 2 was expected; likely cause: rank 1's value is missing";
  CHECK(a.gist() == b.gist());
  b.message = "element 0 is 1 where 2 was expected; likely cause: it was never received";
  CHECK(a.gist() != b.gist());
}

TEST_CASE("wrong number: a multiple, a part, the other sign and one too many are told") {
  CHECK(relation_to_right(12, 4) == "this is 3 times the right number");
  CHECK(relation_to_right(0.5, 4) == "this is 1/8 of the right number");
  CHECK(relation_to_right(-0.7, 0.7) == "this is the right number with the other sign");
  CHECK(relation_to_right(8, 7) == "this is one more than the right number");
  CHECK(relation_to_right(6, 7) == "this is one less than the right number");
  CHECK(!relation_to_right(7, 7));
  CHECK(!relation_to_right(0.4, 0.3));
  CHECK(!relation_to_right(1000, 1));
  CHECK(with_relation({"other", "count again"}, 12, 4).sentence ==
        "this is 3 times the right number; count again");
}
