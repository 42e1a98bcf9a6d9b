// The exam of hierarchical_all_reduce: the reduction everywhere, and a share of 1/g of it between
// nodes. Only the judge knows which rank is on which node: it counts the bytes of every link by the
// ranks that each message joins.
#include <algorithm>
#include <tuple>

#include "grader/exam/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::hierarchical_all_reduce {
namespace {

struct Layout {
  int nodes, each;  // k, g
};
constexpr Layout layouts[] = {{2, 2}, {2, 4}, {4, 2}, {1, 8}, {8, 1}, {2, 3}, {3, 2}, {1, 1},
                              {1, 2}, {2, 1}, {1, 5}, {7, 1}, {1, 3}, {4, 1}, {6, 1}, {1, 6}};
// More than eight ranks, nodes, or ranks of a node; nodes that are no power of two.
constexpr Layout large_layouts[] = {{3, 4}, {2, 6}, {6, 2}, {9, 1}, {1, 13}, {12, 1}};

// Nodes whose links are ten times as fast as those between them, or just as fast.
Nodes nodes_of(const Layout& layout, double faster) {
  const sim::Link between{.latency_s = 5e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 2e9};
  Nodes nodes;
  nodes.ranks_each = layout.each;
  nodes.network.ranks_per_node = layout.each;
  nodes.network.between = between;
  nodes.network.latency_s = between.latency_s / std::min(faster, 5.0);
  nodes.network.gap_s = between.gap_s / std::min(faster, 5.0);
  nodes.network.bandwidth_bytes_s = between.bandwidth_bytes_s * faster;
  return nodes;
}

CollectiveProblem problem_of(const Layout& layout, std::int64_t count, double faster = 10) {
  CollectiveProblem p{.members = whole_world(layout.nodes * layout.each), .count = count};
  p.nodes = nodes_of(layout, faster);
  return p;
}

std::optional<Played> play(CaseRunner& runner, const CollectiveProblem& p) {
  const int g = p.nodes->ranks_each;
  return play_collective(
      runner, p,
      text(p.size() / g, p.size() == g ? " node of " : " nodes of ", g, ", ", grouped(p.count),
           p.count == 1 ? " element of " : " elements of ", name_of(p.dtype), beyond(p),
           p.elements == Elements::none ? " on a device that holds sizes only" : "", ", ",
           name_of(p.op)),
      all_reduce_scene);
}

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Elements that one rank sends between nodes: its shard is a ring's data.
Range between_nodes(const CollectiveProblem& p) {
  const std::int64_t g = p.nodes->ranks_each, k = p.size() / g;
  const std::int64_t least = p.count / g, most = up(p.count, g);
  return {2 * (least - up(least, k)), 2 * (k - 1) * up(most, k)};
}

Price price(const CollectiveProblem& p) {
  const std::int64_t g = p.nodes->ranks_each, k = p.size() / g;
  const Range slow = between_nodes(p);
  Price price;
  price.shape = "the hierarchical all-reduce";
  price.sent.assign(p.ranks(), {slow.least + 2 * (g - 1) * (p.count / g),
                                slow.most + 2 * (g - 1) * up(p.count, g)});
  price.depth = static_cast<int>(2 * (g - 1) + 2 * (k - 1));
  // A ring over all ranks, which the slow links hold up in every step.
  const auto& network = p.nodes->network;
  const sim::Link link = k > 1 ? network.between : network.within();
  const double chunk =
      static_cast<double>(up(p.count, p.size()) * static_cast<std::int64_t>(bytes_of(p.dtype)));
  price.seconds =
      1.01 * 2 * (p.size() - 1) * (link.latency_s + link.gap_s + chunk / link.bandwidth_bytes_s);
  price.why_bytes = "whole buffers travel instead of shards, or shards travel twice";
  price.why_depth = "ranks take turns instead of all sending in every step";
  price.why_time = "ranks wait for each other at one receiver; a ring over all ranks is faster";
  return price;
}

void check_slow_link(CaseRunner& runner, const Played& played, const CollectiveProblem& p) {
  const Range range = between_nodes(p);
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  std::vector<std::int64_t> sent(p.ranks(), 0);
  const auto& network = p.nodes->network;
  for (const auto& message : played.counters.messages) {
    if (network.node_of(message.src) == network.node_of(message.dst)) continue;
    sent[static_cast<std::size_t>(message.src)] += message.bytes / size;
  }
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    if (sent[rank] >= range.least && sent[rank] <= range.most) continue;
    const bool wasteful = sent[rank] > range.most;
    Failure failure;
    failure.verdict = wasteful ? Verdict::efficiency : Verdict::wrong_answer;
    failure.cause = wasteful ? "slow_link" : "too_few_bytes_between_nodes";
    failure.seen = text(grouped(sent[rank]), " elements");
    failure.expected = text("at most ", grouped(range.most), " elements");
    if (!wasteful) failure.expected = text("at least ", grouped(range.least), " elements");
    failure.where = text("rank ", rank);
    failure.message = text("the result is right, but rank ", rank, " sent ", failure.seen,
                           " to other nodes where its part, 2(k-1)/k of its shard, is ",
                           failure.expected, "; likely cause: ",
                           wasteful ? "more than the shard crosses the slow link; send only this "
                                      "rank's shard, after it is reduced within the node"
                                    : "another rank of the node sends this rank's shard");
    runner.fail(played, failure);
  }
}

// The splits that make the groups are over when the first message begins.
double seconds_of(const sim::Counters& counters) {
  double begin = counters.makespan_s, end = 0;
  for (const auto& message : counters.messages) {
    begin = std::min(begin, message.sent_s);
    end = std::max(end, message.arrived_s);
  }
  return std::max(0.0, end - begin);
}

void check_cost(CaseRunner& runner, const CollectiveProblem& p) {
  auto played = play(runner, p);
  if (!played) return;
  check_slow_link(runner, *played, p);
  played->counters.makespan_s = seconds_of(played->counters);
  check_price(runner, *played, p, price(p));
}

void values(CaseRunner& runner) {
  for (const Layout& layout : layouts) {
    const int n = layout.nodes * layout.each;
    for (const std::int64_t count : {3 * n, 0, 1, n - 1, n + 1, 31}) {
      auto p = problem_of(layout, count);
      p.schedule_seed = runner.draw();
      play(runner, p);
    }
  }
  for (const Layout& layout : large_layouts) {
    auto p = problem_of(layout, layout.nodes * layout.each + 1);
    p.calls = 1;
    play(runner, p);
  }
}

void wide_integers(CaseRunner& runner) {
  for (const auto& [dtype, op] : {std::pair{DType::int64, ReduceOp::sum},
                                  {DType::int64, ReduceOp::max},
                                  {DType::int32, ReduceOp::sum}}) {
    auto p = problem_of({2, 3}, 11);
    p.dtype = dtype;
    p.op = op;
    p.offset = large_offset(dtype);
    p.calls = 1;
    play(runner, p);
  }
}

// The first two requests of a rank make the groups.
void deaths(CaseRunner& runner) {
  for (const auto& [layout, rank, request] : {std::tuple{Layout{1, 2}, 1, 3},
                                              {Layout{2, 1}, 0, 3},
                                              {Layout{2, 2}, 0, 5},
                                              {Layout{2, 3}, 4, 7},
                                              {Layout{1, 3}, 1, 11}}) {
    auto p = problem_of(layout, 2 * layout.nodes * layout.each + 1);
    p.calls = 1;
    p.death = Death{rank, request};
    play(runner, p);
  }
}

void other_values(CaseRunner& runner) {
  for (const Layout& layout : {Layout{2, 3}, Layout{4, 2}, Layout{1, 5}}) {
    auto p = problem_of(layout, 101);
    p.dtype = DType::float32;
    play(runner, p);
    p.count = 11;
    p.dtype = DType::float64;
    for (const ReduceOp op : {ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
      p.op = op;
      play(runner, p);
    }
  }
}

void turned(CaseRunner& runner) {
  for (const Layout& layout : {Layout{2, 4}, Layout{3, 2}}) {
    auto p = problem_of(layout, 29);
    p.nodes->turned = true;
    play(runner, p);
  }
}

}  // namespace

Exam exam() {
  return {
      {"every rank's value arrives exactly once, with the same bits everywhere", values},
      {"float32, product, min and max are right, too", other_values},
      {"the result is right if nodes number their ranks in another order", turned},
      {"integers are exact to the last digit: int64 beyond 2^53, int32 beyond 2^24", wide_integers,
       std::vector<std::size_t>{0}},
      {"a rank sends 2(k-1)/k of its shard between nodes, in 2(g-1) + 2(k-1) steps, no slower than "
       "a ring",
       [](CaseRunner& runner) {
         for (const Layout& layout : layouts) {
           const int n = layout.nodes * layout.each;
           for (const std::int64_t count :
                {std::int64_t{240} * n, std::int64_t{240} * n + 3,
                 static_cast<std::int64_t>(1000 + runner.draw() % 1000)}) {
             for (const double faster : {10.0, 1.0}) {
               auto p = problem_of(layout, count, faster);
               p.calls = 1;
               check_cost(runner, p);
             }
           }
         }
         for (const Layout& layout : {Layout{2, 4}, Layout{3, 4}, Layout{9, 1}}) {
           auto p = problem_of(layout, 240 * layout.nodes * layout.each + 5);
           p.op = ReduceOp::max;
           p.calls = 1;
           check_cost(runner, p);
         }
       }},
      {"the cost is also right for 3,000,000,019 elements, for which 32 bits are too few",
       [](CaseRunner& runner) {
         for (const Layout& layout : {Layout{2, 4}, Layout{4, 2}, Layout{2, 6}}) {
           auto p = problem_of(layout, 3'000'000'019);
           p.dtype = DType::float32;
           p.elements = Elements::none;
           p.calls = 1;
           check_cost(runner, p);
         }
       }},
      {"when a peer is lost, a rank throws CommError and never returns a partial result", deaths,
       std::vector<std::size_t>{0}},
  };
}

}  // namespace lockstep::grader::hierarchical_all_reduce
