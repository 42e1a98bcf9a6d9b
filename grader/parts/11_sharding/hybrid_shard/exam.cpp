// The exam of hybrid_shard: each rank's shard of the reduction over all nodes, and 1/g of the data
// between nodes (exam/collective/two_levels.hpp).
#include "grader/exam/collective/two_levels.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::hybrid_shard {
namespace {

// Which elements a rank's shard is.
struct ShardRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
};
ShardRange shard_of(const CollectiveProblem& p, int rank) {
  const std::int64_t g = p.nodes->ranks_each, i = number_in_node(*p.nodes, rank);
  return {i * p.count / g, (i + 1) * p.count / g};
}

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  const Sums sums = draw_sums(p.reduction(), salt, call);
  for (int rank = 0; rank < p.size(); ++rank) {
    const ShardRange range = shard_of(p, rank);
    const auto cut = [&](const std::vector<double>& whole) {
      return std::vector<double>(whole.begin() + range.begin, whole.begin() + range.end);
    };
    const auto& brought = sums.inputs[static_cast<std::size_t>(rank)];
    Holding shard{.name = "shard", .count = range.length(), .before = {}, .after = {}};
    shard.after = cut(sums.expected);
    shard.tolerance = cut(sums.tolerance);
    shard.sums_from = range.begin;
    scene.ranks.push_back(
        {{.name = "gradient", .count = p.count, .before = brought, .after = brought}, shard});
  }
  scene.sums = sums;
  return scene;
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int rank) {
  return {p.count, shard_of(p, rank).length()};
}

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Price price(const CollectiveProblem& p) {
  const std::int64_t g = p.nodes->ranks_each, k = p.size() / g;
  const std::int64_t least = p.count / g, most = up(p.count, g);
  const Range slow = between_nodes(p);
  Price price;
  price.shape = "a reduce-scatter within the node and an all-reduce between nodes";
  price.sent.assign(p.ranks(), {slow.least + p.count - most, slow.most + p.count - least});
  price.depth = static_cast<int>((g - 1) + 2 * (k - 1));
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  const auto message_s = [&](const sim::Link& link, std::int64_t count) {
    return link.latency_s + link.gap_s + static_cast<double>(count * size) / link.bandwidth_bytes_s;
  };
  const auto& network = p.nodes->network;
  price.seconds =
      1.01 * (static_cast<double>(g - 1) * message_s(network.within(), most) +
              static_cast<double>(2 * (k - 1)) * message_s(network.between, up(most, k)));
  price.why_bytes =
      "whole buffers travel instead of shards, or finished shards are gathered, although each rank "
      "needs only its own";
  price.why_depth = "ranks take turns instead of all sending in every step";
  price.why_time =
      "ranks wait for each other at one receiver; in a ring, all of them send in every step";
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values = "each rank has its shard of the reduction over all nodes, and `gradient` is "
                 "unchanged",
       .cost = "a rank sends 2(k-1)/k of its shard between nodes, and (g-1)/g of the data within",
       .reduces = Reduces::yes,
       .groups = Groups::two,
       .oracle = scene,
       .counts = counts,
       .price = price,
       .complete = place_on_nodes,
       .besides = text_of_nodes,
       .look_at_cost = look_at_links});
}

}  // namespace lockstep::grader::hybrid_shard
