// The exam of ring_all_reduce: the reduction everywhere, and what makes it a ring: bytes of every
// rank, chain of messages, neighbours.
#include "grader/exam/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::ring_all_reduce {
namespace {

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t n = p.size(), d = p.count;
  price.shape = "a ring";
  price.sent.assign(p.ranks(), {2 * d - 2 * ((d + n - 1) / n), 2 * d - 2 * (d / n)});
  price.total = 2 * (n - 1) * d;
  price.depth = 2 * (p.size() - 1);
  price.reach = 1;
  price.why_bytes =
      "whole buffers travel instead of chunks of 1/N, or some chunks travel more than once in a "
      "phase";
  price.why_uneven =
      "the lengths of the chunks differ by more than one; a chunk c from ⌊c·D/N⌋ to ⌊(c+1)·D/N⌋ "
      "spreads the remainder";
  price.why_depth = "ranks take turns instead of all sending in every step";
  return price;
}

}  // namespace

Exam exam() {
  CollectiveContract contract = all_reduce_contract(
      "each rank sends 2(N-1)/N of the data to its neighbours, in 2(N-1) steps", price);
  contract.chunks = true;
  return collective_exam(contract);
}

}  // namespace lockstep::grader::ring_all_reduce
