// The exam of naive_all_reduce: the reduction everywhere, and everything from everyone to everyone.
#include "grader/exam/all_reduce_rules.hpp"
#include "grader/judge/bench.hpp"

namespace lockstep::grader::naive_all_reduce {
namespace {

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t each = (p.size() - 1) * p.count;
  price.shape = "everyone to everyone";
  price.sent.assign(p.ranks(), {each, each});
  price.depth = p.size() - 1;
  price.room = p.size() * p.count;
  price.why_bytes = "somebody gets the same buffer twice";
  price.why_depth =
      "ranks wait for what others bring before they send their own data: that is another "
      "algorithm, or they take turns";
  price.why_room =
      "room is made for every message in every step; N buffers hold all that arrives and your own";
  return price;
}

}  // namespace

Exam exam() {
  return all_reduce_exam("(N-1)·D elements from every rank, in chains of at most N-1 messages",
                         price);
}

}  // namespace lockstep::grader::naive_all_reduce
