// The exam of reduce: the reduction on the root, by a tree; the data of all other ranks is
// unchanged.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::reduce {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const Sums sums = draw_sums(p.reduction(), salt, call);
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto& mine = sums.inputs[static_cast<std::size_t>(rank)];
    Holding data{.name = "data", .count = p.count, .before = mine, .after = mine};
    if (rank == p.root) {
      data.after = sums.expected;
      data.tolerance = sums.tolerance;
    }
    scene.ranks.push_back({data});
  }
  scene.sums = sums;
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int) { return {p.count}; }

Price price(const CollectiveProblem& p) {
  Price price;
  price.shape = "a binomial tree";
  price.sent.assign(p.ranks(), {p.count, p.count});
  price.sent[static_cast<std::size_t>(p.root)] = {0, 0};
  price.total = (p.size() - 1) * p.count;
  price.depth = price.receives = tree_depth(p.size());
  price.why_bytes = "a partial result travels more than once, or to more than one rank";
  price.bytes_cause = [p, why = price.why_bytes](const Played& played) {
    if (played.counters.ranks[static_cast<std::size_t>(p.root)].messages_sent == 0) return why;
    return text("the root, rank ", p.root,
                ", sends: the tree has another rank at its top. Count "
                "the places of the tree from the root, (rank - root + N) % N");
  };
  price.why_depth = "the ranks add one after the other; pairs of them can add at the same time";
  price.seconds = 1.1 * tree_depth(p.size()) * message_seconds(p, p.count);
  price.why_time =
      "a rank receives from the largest part of the tree first, and small parts, whose sums are "
      "ready, wait; receive from the nearest place first";
  price.why_fan =
      "one rank receives from all the others; those ranks should add among themselves first";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "the root has every rank's value exactly once, and the data of all other ranks is "
                 "unchanged",
       .cost = "a tree sends (N-1)·D elements in the time of log2 N; no chain and no rank's "
               "receives exceed it",
       .roots = Roots::all,
       .reduces = Reduces::yes,
       .oracle = scene,
       .counts = counts,
       .price = price});
}

}  // namespace lockstep::grader::reduce
