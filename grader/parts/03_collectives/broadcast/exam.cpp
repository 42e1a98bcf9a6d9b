// The exam of broadcast: the root's elements everywhere, by a tree.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::broadcast {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const auto elements = distinct(p, salt, call, p.root, p.count);
  for (int rank = 0; rank < p.size(); ++rank) {
    Holding data{.name = "data", .count = p.count, .before = {}, .after = elements};
    if (rank == p.root) data.before = elements;
    scene.ranks.push_back({data});
  }
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int) { return {p.count}; }

Price price(const CollectiveProblem& p) {
  Price price;
  price.shape = "a binomial tree";
  price.received.assign(p.ranks(), {p.count, p.count});
  price.received[static_cast<std::size_t>(p.root)] = {0, 0};
  price.total = (p.size() - 1) * p.count;
  price.depth = price.sends = tree_depth(p.size());
  price.why_bytes = "a rank that has the data receives it again";
  price.why_depth =
      "the ranks pass the data on one after the other; every rank that has it can send it in every "
      "step";
  price.seconds = 1.1 * tree_depth(p.size()) * message_seconds(p, p.count);
  price.time_cause = time_of_tree(
      tree_depth(p.size()),
      "a rank serves a small part of the tree first, and the largest part waits; serve the "
      "farthest place first");
  price.why_fan = "one rank serves all the others; the ranks that it has served should send, too";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values =
           "the root's elements arrive on every rank, for any root, number of ranks and count",
       .cost = "a tree sends (N-1)·D elements in the time of log2 N; no chain and no rank's sends "
               "exceed it",
       .roots = Roots::all,
       .oracle = scene,
       .counts = counts,
       .price = price});
}

}  // namespace lockstep::grader::broadcast
