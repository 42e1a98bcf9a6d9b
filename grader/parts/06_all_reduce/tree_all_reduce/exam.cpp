// The exam of tree_all_reduce: the reduction everywhere, by whole buffers up and down a tree.
#include "grader/exam/collective/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::tree_all_reduce {
namespace {

Price price(const CollectiveProblem& p) {
  Price price;
  const int levels = tree_depth(p.size());
  price.shape = "one pass up and down a tree";
  price.total = 2 * (p.size() - 1) * p.count;
  price.messages = 2 * (p.size() - 1);
  price.depth = 2 * levels;
  price.sends = price.receives = levels + 1;
  price.why_bytes = "a rank sends or receives a buffer more than once each way";
  price.why_messages =
      "the buffer travels in pieces, although every message should carry all of it";
  price.why_depth = "the ranks add, or pass on the result, one after the other";
  price.seconds = 1.1 * 2 * levels * message_seconds(p, p.count);
  price.time_cause = time_of_tree(
      levels,
      "a part of the tree waits for another one; in a binomial tree, collect from the nearest rank "
      "first, and serve the farthest rank first");
  price.why_fan = "one rank talks to all the others; pairs of ranks can exchange at the same time";
  return price;
}

}  // namespace

Exam exam() {
  return all_reduce_exam(
      "a tree sends 2(N-1) messages of D elements in the time of 2·log2 N; no chain and no rank's "
      "share exceed log2 N each way",
      price);
}

}  // namespace lockstep::grader::tree_all_reduce
