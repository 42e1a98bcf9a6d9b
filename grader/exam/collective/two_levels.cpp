#include "grader/exam/collective/two_levels.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// Nodes whose links are ten times as fast as those between them, or just as fast.
Nodes nodes_of(int ranks_each, double faster) {
  const sim::Link between{.latency_s = 5e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 2e9};
  Nodes nodes;
  nodes.ranks_each = ranks_each;
  nodes.network.ranks_per_node = ranks_each;
  nodes.network.between = between;
  nodes.network.latency_s = between.latency_s / std::min(faster, 5.0);
  nodes.network.gap_s = between.gap_s / std::min(faster, 5.0);
  nodes.network.bandwidth_bytes_s = between.bandwidth_bytes_s * faster;
  return nodes;
}

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Why a rank sends too much between nodes: more than shards, or whole shards too often.
std::string why_slow_link(const Played& played, const CollectiveProblem& p, int rank) {
  const sim::Network& network = p.nodes->network;
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  const int nodes = p.size() / p.nodes->ranks_each;
  const std::int64_t shard = up(p.count, p.nodes->ranks_each);
  std::int64_t messages = 0, sent = 0, least = shard, largest = 0;
  std::set<int> to;
  for (const auto& message : played.counters.messages) {
    if (message.src != rank || network.node_of(message.src) == network.node_of(message.dst)) {
      continue;
    }
    ++messages;
    sent += message.bytes / size;
    to.insert(message.dst);
    least = std::min(least, message.bytes / size);
    largest = std::max(largest, message.bytes / size);
  }
  if (std::abs(sent - 2 * (nodes - 1) * p.count / nodes) <= nodes && p.nodes->ranks_each > 1) {
    return text("these are 2(k-1)/k of all ", grouped(p.count),
                " elements: between the nodes only this rank's shard is all-reduced, after the "
                "reduce-scatter within the node");
  }
  if (largest > shard) {
    return text("a message of ", grouped(largest), " elements crosses the slow link; send only ",
                "this rank's shard, after it is reduced within the node");
  }
  if (largest == shard && least < p.count / p.nodes->ranks_each &&
      !std::has_single_bit(static_cast<unsigned>(nodes))) {
    return text(
        "the shard is the right one, but pieces and a whole shard cross the slow link, as "
        "in halving and doubling: ",
        nodes,
        " nodes are no power of two, so some are left over, send their whole shard "
        "and get it back; a ring sends 2(k-1)/k of it for any k");
  }
  return text(messages, " messages of up to ", grouped(largest),
              " elements cross the slow link, and the shard has ", grouped(shard),
              "; the shard is the right one, but its all-reduce must be one that sends pieces, as "
              "a ring does, and not whole shards ",
              std::ssize(to) == 1           ? "to one rank and back"
              : std::ssize(to) == nodes - 1 ? "to every other rank"
                                            : "to several ranks");
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
                           wasteful ? why_slow_link(played, p, static_cast<int>(rank))
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

}  // namespace

void place_on_nodes(CaseRunner& runner, CollectiveProblem& p) {
  std::vector<int> each;
  for (int g = 1; g <= p.size(); ++g) {
    if (p.size() % g == 0) each.push_back(g);
  }
  const std::uint64_t drawn = runner.draw();
  const auto turn = p.death ? static_cast<std::size_t>(p.death->rank)
                            : static_cast<std::size_t>(p.count) + p.ranks();
  p.nodes = nodes_of(each[turn % each.size()], drawn % 2 == 0 ? 10 : 1);
  p.nodes->turned = p.nodes->ranks_each > 1 && p.calls > 1 && p.count % 3 == 1;
}

std::string text_of_nodes(const CollectiveProblem& p) {
  const int g = p.nodes->ranks_each;
  return text(p.size() / g, p.size() == g ? " node of " : " nodes of ", g,
              p.nodes->turned ? ", every other one numbered backwards, " : ", ");
}

int number_in_node(const Nodes& nodes, int rank) {
  const int place = rank % nodes.ranks_each;
  const bool backwards = nodes.turned && rank / nodes.ranks_each % 2 == 1;
  return backwards ? nodes.ranks_each - 1 - place : place;
}

Range between_nodes(const CollectiveProblem& p) {
  const std::int64_t g = p.nodes->ranks_each, k = p.size() / g;
  const std::int64_t least = p.count / g, most = up(p.count, g);
  // In a ring, a rank sends all chunks but one, twice; or each chunk to its owner, and its own
  // back.
  const std::int64_t to_owners = least + (k - 2) * (least / k);
  return {std::min(2 * (least - up(least, k)), to_owners), 2 * (k - 1) * up(most, k)};
}

void look_at_links(CaseRunner& runner, Played& played, const CollectiveProblem& p) {
  check_slow_link(runner, played, p);
  played.counters.makespan_s = seconds_of(played.counters);
}

}  // namespace lockstep::grader
