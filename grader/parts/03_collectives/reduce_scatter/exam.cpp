// The exam of reduce_scatter: block r of the reduction on rank r, at (N-1)/N of the data a rank.
#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::reduce_scatter {
namespace {

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const Sums sums = draw_sums(p.reduction(), salt, call);
  const auto cut = [&](const std::vector<double>& whole, int rank) {
    const auto first = whole.begin() + p.block_begin(rank);
    return std::vector<double>(first, first + p.block_length(rank));
  };
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto& brought = sums.inputs[static_cast<std::size_t>(rank)];
    Holding mine{.name = "mine", .count = p.block_length(rank), .before = {}, .after = {}};
    mine.after = cut(sums.expected, rank);
    mine.tolerance = cut(sums.tolerance, rank);
    mine.sums_from = p.block_begin(rank);
    scene.ranks.push_back(
        {{.name = "all", .count = p.count, .before = brought, .after = brought}, mine});
  }
  scene.sums = sums;
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int rank) {
  return {p.count, p.block_length(rank)};
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t n = p.size();
  price.shape = "a ring";
  price.sent.assign(p.ranks(), {p.count - (p.count + n - 1) / n, p.count - p.count / n});
  price.total = (n - 1) * p.count;
  price.depth = p.size() - 1;
  price.why_bytes =
      "whole buffers travel, or finished blocks travel too, although each rank needs only its own";
  price.why_depth = "ranks take turns instead of all sending in every step";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "rank r has block r of the reduction, and `all` is unchanged",
       .cost = "each rank sends (N-1)/N of the data, all ranks send (N-1)·D elements, in N-1 steps",
       .reduces = Reduces::yes,
       .oracle = scene,
       .counts = counts,
       .price = price});
}

}  // namespace lockstep::grader::reduce_scatter
