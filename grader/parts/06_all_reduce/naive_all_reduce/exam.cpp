// The exam of naive_all_reduce: the reduction everywhere, and everything from everyone to everyone.
#include "grader/exam/collective/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::naive_all_reduce {
namespace {

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t each = (p.size() - 1) * p.count;
  price.shape = "the naive all-reduce";
  price.sent.assign(p.ranks(), {each, each});
  price.depth = p.size() - 1;
  price.room = p.size() * p.count;
  price.why_bytes = "a rank gets the same buffer twice";
  price.why_depth =
      "ranks wait for other ranks' data before they send their own; this is another algorithm, or "
      "the ranks take turns";
  price.why_room =
      "every step allocates a new buffer; N buffers hold all data that arrives and your own";
  return price;
}

}  // namespace

Exam exam() {
  return all_reduce_exam("every rank sends (N-1)·D elements, in chains of at most N-1 messages",
                         price);
}

}  // namespace lockstep::grader::naive_all_reduce
