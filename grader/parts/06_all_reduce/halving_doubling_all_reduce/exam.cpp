// The exam of halving_doubling_all_reduce: the reduction everywhere, with the steps of a tree and
// the bytes of a ring.
#include <algorithm>
#include <bit>

#include "grader/exam/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::halving_doubling_all_reduce {
namespace {

// Why the chain of messages is too long: a ring's is 2(N-1).
std::string why_deep(const Played& played, int n) {
  const auto to_the_right = [n](const auto& message) {
    return (message.src + 1) % n == message.dst;
  };
  if (n > 2 && std::ranges::all_of(played.counters.messages, to_the_right)) {
    return text("each of the ", n,
                " ranks sends to the next one only: a ring, of 2(N-1) steps; "
                "where N is no power of two, the ranks beyond P give their data to others first, "
                "and P ranks halve and double");
  }
  return "ranks take turns or wait for every pair, although all pairs can exchange at the same "
         "time";
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t d = p.count;
  const std::int64_t inner = std::bit_floor(static_cast<unsigned>(p.size()));
  const bool folded = inner < p.size();
  const std::int64_t rounding = d % inner == 0 ? 0 : inner - 1;
  const std::int64_t most = 2 * (inner - 1) * d / inner;
  price.shape = "halving and doubling";
  price.sent.assign(p.ranks(), folded ? Range{d - rounding, most + d + rounding}
                                      : Range{most - rounding, most + rounding});
  price.total = 2 * (p.size() - 1) * d;
  price.depth = 2 * tree_depth(static_cast<int>(inner)) + (folded ? 2 : 0);
  price.why_bytes =
      "whole buffers travel, or the same half in every step, although each step should send half "
      "as much as the one before";
  price.depth_cause = [n = p.size()](const Played& played) { return why_deep(played, n); };
  return price;
}

}  // namespace

Exam exam() {
  CollectiveContract contract = all_reduce_contract(
      "2·log2 P steps and 2(P-1)/P of the data suffice, with 2 more steps if N is not a power of "
      "two",
      price);
  contract.chunks = true;
  return collective_exam(contract);
}

}  // namespace lockstep::grader::halving_doubling_all_reduce
