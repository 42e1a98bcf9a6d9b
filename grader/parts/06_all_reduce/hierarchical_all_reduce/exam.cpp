// The exam of hierarchical_all_reduce: the reduction everywhere, and a share of 1/g of it between
// nodes (exam/collective/two_levels.hpp).
#include "grader/exam/collective/all_reduce_rules.hpp"
#include "grader/exam/collective/two_levels.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::hierarchical_all_reduce {
namespace {

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

}  // namespace

Exam exam() {
  CollectiveContract contract = all_reduce_contract(
      "a rank sends 2(k-1)/k of its shard between nodes, in 2(g-1) + 2(k-1) steps, no slower than "
      "a ring",
      price);
  contract.groups = Groups::two;
  contract.complete = place_on_nodes;
  contract.besides = text_of_nodes;
  contract.look_at_cost = look_at_links;
  return collective_exam(contract);
}

}  // namespace lockstep::grader::hierarchical_all_reduce
