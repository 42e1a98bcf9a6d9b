// Rounds of negotiation on simulated ranks.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "engine/base/random.hpp"
#include "engine/parallel/horovod/negotiate.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using horovod::negotiate;
using horovod::NegotiateOptions;
using horovod::Outlook;
using horovod::Request;
using horovod::Response;
using horovod::Verdict;
using lockstep::test::contains;
using lockstep::test::on_sim;

namespace {

std::vector<Request> named(const std::vector<std::string>& names) {
  std::vector<Request> requests;
  for (const std::string& name : names) requests.push_back({name, DType::float32, {3}});
  return requests;
}

std::string text_of(const std::vector<Response>& responses) {
  std::string all;
  for (const Response& response : responses) {
    all += response.name;
    all += response.verdict == Verdict::reduce    ? " "
           : response.verdict == Verdict::refused ? "! "
                                                  : "? ";
  }
  return all;
}

// What each rank is answered, given what each has; all must be the same.
std::vector<Response> answered(const std::vector<std::vector<Request>>& ready,
                               const NegotiateOptions& options = {}) {
  const int ranks = static_cast<int>(ready.size());
  std::vector<std::vector<Response>> answers(ready.size());
  const auto run = on_sim(ranks, [&](comm::ProcessGroup& group, Strands&) {
    const auto at = static_cast<std::size_t>(group.rank());
    answers[at] = negotiate(group, ready[at], options);
  });
  REQUIRE(run.all() == "");
  for (const auto& answer : answers) CHECK(answer == answers[0]);
  return answers[0];
}

}  // namespace

TEST_CASE("negotiate: what is ready on all ranks is released, in rank 0's order") {
  CHECK(text_of(answered({named({"a", "b", "c"}), named({"c", "a"})})) == "a c ");
  CHECK(text_of(answered({named({"b", "a"}), named({"a", "b"}), named({"a", "b"})})) == "b a ");
  CHECK(text_of(answered({named({"a"}), named({"b"})})) == "");
  CHECK(text_of(answered({named({}), named({"b"})})) == "");
  CHECK(text_of(answered({named({}), named({})})) == "");
  CHECK(text_of(answered({named({"y", "x"})})) == "y x ");  // one rank
}

TEST_CASE("negotiate: random orders on 1 to 8 and 13 ranks give one order, of what all have") {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      CAPTURE(ranks, seed);
      std::vector<std::vector<Request>> ready;
      std::vector<std::string> everywhere;
      for (int name = 0; name < 9; ++name) everywhere.push_back(text("layer.", name));
      for (int rank = 0; rank < ranks; ++rank) {
        const auto draw = seed * 100 + static_cast<std::uint64_t>(rank);
        std::vector<std::pair<double, std::string>> drawn;
        for (std::uint64_t name = 0; name < 9; ++name) {
          if (random_uniform(draw, 50 + name) < 0.9) {
            drawn.emplace_back(random_uniform(draw, name), text("layer.", name));
          }
        }
        std::ranges::sort(drawn);
        std::vector<std::string> names;
        for (const auto& [key, name] : drawn) names.push_back(name);
        std::erase_if(everywhere,
                      [&](const auto& name) { return std::ranges::count(names, name) == 0; });
        ready.push_back(named(names));
      }
      std::vector<std::string> released;
      for (const Response& response : answered(ready)) {
        CHECK(response.verdict == Verdict::reduce);
        released.push_back(response.name);
      }
      CHECK(std::set(released.begin(), released.end()) ==
            std::set(everywhere.begin(), everywhere.end()));
      std::vector<std::string> of_rank_0;
      for (const Request& request : ready[0]) {
        if (std::ranges::count(released, request.name) > 0) of_rank_0.push_back(request.name);
      }
      CHECK(released == of_rank_0);
    }
  }
}

TEST_CASE("negotiate: what differs in type or shape is refused on all ranks, naming both") {
  auto ready = std::vector{named({"a", "w"}), named({"w", "a"}), named({"w", "a"})};
  ready[2][0].dtype = DType::float64;
  std::vector<Response> seen = answered(ready);
  CHECK(text_of(seen) == "a w! ");
  CHECK_THAT(seen[1].why, contains("the gradient w is float32 [3] on rank 0 and float64 [3] on "
                                   "rank 2; every rank must build the same model"));
  ready[2][0] = {"w", DType::float32, {4, 5}};
  ready[1][0] = {"w", DType::float32, {}};
  seen = answered(ready);
  CHECK_THAT(seen[1].why, contains("w is float32 [3] on rank 0 and float32 [] on rank 1"));
}

TEST_CASE(
    "negotiate: who waits longer than the limit for other ranks is told, with their numbers") {
  auto ready = std::vector{named({"a", "b"}), named({"a"}), named({"b", "a"}), named({"a"})};
  ready[0][1].waited_s = 59;
  ready[2][0].waited_s = 61;
  const std::vector<Response> seen = answered(ready);
  CHECK(text_of(seen) == "a b? ");
  CHECK_THAT(seen[1].why,
             contains("the gradient b is ready on ranks 0, 2 and not on ranks 1, 3, after 61 s"));
  CHECK(text_of(answered(ready, {.stall_limit_s = 61})) == "a ");  // not longer
  ready[0][0].waited_s = 1000;  // is ready everywhere, so nobody waits for it any more
  CHECK(text_of(answered(ready, {.stall_limit_s = 61})) == "a ");
}

TEST_CASE("negotiate: when all ranks wait and nothing can be released, that is said at once") {
  const auto ready = std::vector{named({"a"}), named({"b"}), named({"a"})};
  const std::vector<Response> seen = answered(ready, {.outlook = Outlook::waits});
  CHECK(text_of(seen) == "a? b? ");
  CHECK_THAT(seen[0].why, contains("a is ready on ranks 0, 2 and not on rank 1"));
  CHECK_THAT(seen[1].why, contains("b is ready on rank 1 and not on ranks 0, 2"));
  // As long as something moves, or one rank may bring more, they go on.
  CHECK(text_of(answered({named({"a", "c"}), named({"b", "c"})}, {.outlook = Outlook::waits})) ==
        "c ");
  const auto run = on_sim(2, [&](comm::ProcessGroup& group, Strands&) {
    const bool first = group.rank() == 0;
    const auto answer = negotiate(group, first ? ready[0] : ready[1],
                                  {.outlook = first ? Outlook::waits : Outlook::goes_on});
    LOCKSTEP_EXPECT(answer.empty());
  });
  CHECK(run.all() == "");
}

TEST_CASE("negotiate: a name that a rank asks for twice is refused there") {
  const auto run = on_sim(1, [](comm::ProcessGroup& group, Strands&) {
    const auto twice = named({"a", "b", "a"});
    LOCKSTEP_EXPECT(test::message_of([&] {
                      (void)negotiate(group, twice);
                    }).find("asks twice for the gradient a") != std::string::npos);
  });
  CHECK(run.all() == "");
}

TEST_CASE("negotiate: a round costs each rank its names, and rank 0 the answers") {
  std::vector<std::int64_t> sent(3);
  const auto run = on_sim(3, [&](comm::ProcessGroup& group, Strands&) {
    (void)negotiate(group, named({"weight", "bias"}));
    sent[static_cast<std::size_t>(group.rank())] = group.traffic().bytes_sent;
  });
  CHECK(run.all() == "");
  // A list: outlook 1, count 4; of each name its length 8, type 1, time 8, and the one size of its
  // shape 8 + 8.
  const std::int64_t list = 1 + 4 + (8 + 6 + 25) + (8 + 4 + 25);
  CHECK(sent[2] == 8 + list);  // its length, and the list
  // The answer: count 4; of each name its length 8 and verdict 1. Rank 0 is the root of two
  // broadcasts: a length, and the answer; on three ranks the tree's root sends twice.
  const std::int64_t answer = 4 + (8 + 6 + 1) + (8 + 4 + 1);
  CHECK(sent[0] == 2 * (8 + answer));
}
