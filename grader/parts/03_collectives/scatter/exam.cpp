// The exam of scatter: its own block on every rank, and no more than that from the root.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::scatter {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const auto dealt = distinct(p, salt, call, p.root, p.size() * p.count);
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto first = dealt.begin() + rank * p.count;
    Holding all{.name = "all", .count = 0, .before = {}, .after = {}};
    if (rank == p.root)
      all = {.name = "all", .count = p.size() * p.count, .before = dealt, .after = dealt};
    scene.ranks.push_back(
        {all, {.name = "mine", .count = p.count, .before = {}, .after = {first, first + p.count}}});
  }
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int rank) {
  return {rank == p.root ? p.size() * p.count : 0, p.count};
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t others = (p.size() - 1) * p.count;
  price.shape = "a scatter";
  price.sent.assign(p.ranks(), {});
  price.sent[static_cast<std::size_t>(p.root)] = {others, others};
  price.received.assign(p.ranks(), {p.count, Range{}.most});
  price.received[static_cast<std::size_t>(p.root)] = {0, 0};
  price.why_bytes = "ranks receive blocks that are not theirs";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam({.values = "every rank has its block of the root's data",
                          .cost = "the root sends (N-1)·B elements, and nothing to itself",
                          .roots = Roots::all,
                          .oracle = scene,
                          .counts = counts,
                          .price = price,
                          .large = (1 << 16) / 3 + 1});
}

}  // namespace lockstep::grader::scatter
