// The exam of exchange: the left neighbour's data, by messages that do not wait for each other.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::exchange {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto mine = distinct(p, salt, call, rank, p.count);
    const auto left = distinct(p, salt, call, (rank + p.size() - 1) % p.size(), p.count);
    scene.ranks.push_back({{.name = "mine", .count = p.count, .before = mine, .after = mine},
                           {.name = "from_left", .count = p.count, .before = {}, .after = left}});
  }
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int) { return {p.count, p.count}; }

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t sent = p.size() > 1 ? p.count : 0;
  price.shape = "a shift in which all ranks send at once";
  price.sent.assign(p.ranks(), {sent, sent});
  price.received = price.sent;
  price.sends = price.depth = 1;
  price.seconds = 1.1 * message_seconds(p, p.count);
  price.why_bytes = "a rank sends something other than `mine`, or sends it more than once";
  price.why_depth = "some ranks receive before they send; with isend all ranks can send first";
  price.why_fan = "`mine` is cut into pieces, or sent to ranks other than the right neighbour";
  price.why_time = "ranks take turns";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "every rank has its left neighbour's data, and no rank waits forever",
       .cost = "each rank sends one message, and all ranks send at once",
       .oracle = scene,
       .counts = counts,
       .price = price});
}

}  // namespace lockstep::grader::exchange
