// The exam of all_gather: every block at its place on every rank, for (N-1)·B sent by each.
#include "grader/exam/collective_rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::all_gather {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  Holding all{.name = "all", .count = p.size() * p.count, .before = {}, .after = {}};
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto mine = distinct(p, salt, call, rank, p.count);
    all.after.insert(all.after.end(), mine.begin(), mine.end());
    scene.ranks.push_back({{.name = "mine", .count = p.count, .before = mine, .after = mine}});
  }
  for (auto& held : scene.ranks) held.push_back(all);
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int) {
  return {p.count, p.size() * p.count};
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t others = (p.size() - 1) * p.count;
  price.shape = "a ring";
  price.sent.assign(p.ranks(), {others, others});
  price.received = price.sent;
  price.depth = p.size() - 1;
  price.why_bytes =
      "one rank collects the blocks and sends them out again, or a rank passes on more than the "
      "block that just arrived";
  price.why_depth = "ranks take turns instead of all sending in every step";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "every block is at its place on every rank, and `mine` is unchanged",
       .cost = "every rank sends exactly (N-1)·B elements, in N-1 steps",
       .oracle = scene,
       .counts = counts,
       .price = price,
       .large = (1 << 16) / 3 + 1});
}

}  // namespace lockstep::grader::all_gather
