// The exam of gather: every block at its place on the root, which receives each once.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::gather {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  Holding all{.name = "all", .count = p.size() * p.count, .before = {}, .after = {}};
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto mine = distinct(p, salt, call, rank, p.count);
    all.after.insert(all.after.end(), mine.begin(), mine.end());
    scene.ranks.push_back({{.name = "mine", .count = p.count, .before = mine, .after = mine},
                           {.name = "all", .count = 0, .before = {}, .after = {}}});
  }
  scene.ranks[static_cast<std::size_t>(p.root)].back() = all;
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int rank) {
  return {p.count, rank == p.root ? p.size() * p.count : 0};
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t others = (p.size() - 1) * p.count;
  price.shape = "a gather";
  price.received.assign(p.ranks(), {});
  price.received[static_cast<std::size_t>(p.root)] = {others, others};
  price.sent.assign(p.ranks(), {p.count, Range{}.most});
  price.sent[static_cast<std::size_t>(p.root)] = {0, 0};
  price.why_bytes = "blocks are sent more than once, or to ranks that are not the root";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam({.values = "the root has every rank's block, in rank order",
                          .cost = "the root receives (N-1)·B elements and sends nothing",
                          .roots = Roots::all,
                          .oracle = scene,
                          .counts = counts,
                          .price = price,
                          .large = (1 << 16) / 3 + 1});
}

}  // namespace lockstep::grader::gather
