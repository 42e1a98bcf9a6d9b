// The closed forms. Where a block is empty no message is sent, so messages are counted by blocks
// that hold something: D elements in N blocks fill min(D, N) of them.
#include "engine/collectives/cost.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace lockstep::collectives {

namespace {

std::int64_t log2_below(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }  // ⌊log₂n⌋
std::int64_t log2_above(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }  // ⌈log₂n⌉
std::int64_t parts(std::int64_t count, std::int64_t n) { return (count + n - 1) / n; }  // ⌈D/n⌉

bool nothing(int ranks, std::int64_t count) { return ranks == 1 || count == 0; }

// So many steps, in each of which every rank sends one message of `count` and receives one.
Path in_step(std::int64_t steps, std::int64_t count) { return {steps, steps, steps * count}; }

// Every rank sends something of `count` elements to every other, in N-1 steps.
Cost everyone_to_everyone(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t n = ranks;
  return {.depth = n - 1,
          .messages = n * (n - 1),
          .elements = n * (n - 1) * count,
          .busiest = (n - 1) * count,
          .path = in_step(n - 1, count)};
}

// Block r of D elements is [⌊r·D/N⌋, ⌊(r+1)·D/N⌋), so the longer blocks, D mod N of them, lie as
// far apart as they can: two neighbours are both short unless at least every other one is long, and
// there is a short one unless all are alike.
std::int64_t two_neighbouring_blocks(std::int64_t n, std::int64_t count) {
  const std::int64_t longer = count % n;
  return 2 * (count / n) + (2 * longer < n ? 0 : 1);
}

// The longest chain of halving and doubling, by walking its steps: below P elements some halves are
// empty, and who sends nothing hands no chain on.
std::int64_t halving_doubling_depth(int ranks, int inner, std::int64_t count) {
  const auto folded = static_cast<std::size_t>(ranks - inner);
  const auto n = static_cast<std::size_t>(inner);
  std::vector<std::int64_t> heard(n, 0);  // the deepest message that each rank has received
  std::fill_n(heard.begin(), folded, 1);
  // lengths[level][rank]: what it keeps after so many halvings
  std::vector<std::vector<std::int64_t>> lengths{std::vector<std::int64_t>(n, count)};
  const auto meet = [&](std::size_t apart, auto sent_by) {
    auto next = heard;
    for (std::size_t rank = 0; rank < n; ++rank) {
      const std::size_t partner = rank ^ apart;
      if (sent_by(partner) > 0) next[rank] = std::max(heard[rank], heard[partner] + 1);
    }
    heard = std::move(next);
  };
  for (std::size_t apart = n / 2; apart > 0; apart /= 2) {
    auto kept = lengths.back();
    for (std::size_t rank = 0; rank < n; ++rank) {
      kept[rank] = (rank & apart) == 0 ? (kept[rank] + 1) / 2 : kept[rank] / 2;
    }
    meet(apart, [&](std::size_t partner) { return kept[partner ^ apart]; });
    lengths.push_back(std::move(kept));
  }
  for (std::size_t apart = 1; apart < n; apart *= 2) {
    meet(apart, [&](std::size_t partner) { return lengths.back()[partner]; });
    lengths.pop_back();
  }
  std::int64_t depth = *std::max_element(heard.begin(), heard.end());
  for (std::size_t rank = 0; rank < folded; ++rank) depth = std::max(depth, heard[rank] + 1);
  return depth;
}

}  // namespace

double seconds(const Path& path, const sim::Link& link, std::int64_t element_bytes) {
  return static_cast<double>(path.latencies) * link.latency_s +
         static_cast<double>(path.messages) * link.gap_s +
         static_cast<double>(path.elements * element_bytes) / link.bandwidth_bytes_s;
}

Cost exchange_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  return {.depth = 1,
          .messages = ranks,
          .elements = ranks * count,
          .busiest = count,
          .path = in_step(1, count)};
}

// The root sends ⌈log₂N⌉ times; the longest chain goes through ranks that each sent at once,
// ⌊log₂N⌋ of them. Latencies of messages that leave one port overlap, so the path has no more than
// those.
Cost broadcast_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t sends = log2_above(ranks), chain = log2_below(ranks);
  return {.depth = chain,
          .messages = ranks - 1,
          .elements = (ranks - 1) * count,
          .busiest = sends * count,
          .path = {chain, sends, sends * count}};
}

// The root receives ⌈log₂N⌉ times, and each message begins when the one before has arrived.
Cost reduce_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  return {.depth = log2_below(ranks),
          .messages = ranks - 1,
          .elements = (ranks - 1) * count,
          .busiest = count,
          .path = in_step(log2_above(ranks), count)};
}

Cost scatter_cost(int ranks, std::int64_t block) {
  if (nothing(ranks, block)) return {};
  const std::int64_t sends = ranks - 1;
  return {.depth = 1,
          .messages = sends,
          .elements = sends * block,
          .busiest = sends * block,
          .path = {1, sends, sends * block}};
}

Cost gather_cost(int ranks, std::int64_t block) {
  if (nothing(ranks, block)) return {};
  const std::int64_t receives = ranks - 1;
  return {.depth = 1,
          .messages = receives,
          .elements = receives * block,
          .busiest = block,
          .path = in_step(receives, block)};
}

Cost all_gather_cost(int ranks, std::int64_t block) { return everyone_to_everyone(ranks, block); }

Cost all_to_all_cost(int ranks, std::int64_t block) { return everyone_to_everyone(ranks, block); }

Cost reduce_scatter_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t n = ranks;
  return {.depth = n - 1,
          .messages = (n - 1) * std::min(count, n),
          .elements = (n - 1) * count,
          .busiest = count - count / n,
          .path = in_step(n - 1, parts(count, n))};
}

Cost barrier_cost(int ranks) {
  if (ranks == 1) return {};
  const std::int64_t steps = log2_above(ranks);
  return {.depth = steps,
          .messages = ranks * steps,
          .elements = ranks * steps,
          .busiest = steps,
          .path = in_step(steps, 1)};
}

Cost naive_all_reduce_cost(int ranks, std::int64_t count) {
  return everyone_to_everyone(ranks, count);
}

// Each way round, a rank sends all blocks but one; the two that it does not send are neighbours.
Cost ring_all_reduce_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t n = ranks;
  return {.depth = 2 * (n - 1),
          .messages = 2 * (n - 1) * std::min(count, n),
          .elements = 2 * (n - 1) * count,
          .busiest = 2 * count - two_neighbouring_blocks(n, count),
          .path = in_step(2 * (n - 1), parts(count, n))};
}

Cost tree_all_reduce_cost(int ranks, std::int64_t count) {
  const Cost up = reduce_cost(ranks, count), down = broadcast_cost(ranks, count);
  return {.depth = up.depth + down.depth,
          .messages = up.messages + down.messages,
          .elements = up.elements + down.elements,
          .busiest = down.busiest,
          .path = {up.path.latencies + down.path.latencies, up.path.messages + down.path.messages,
                   up.path.elements + down.path.elements}};
}

// Level i, from 1 to log₂P: the P ranks hold 2^i different pieces of D/2^i elements, each piece on
// P/2^i ranks; every rank sends one piece when halving and one when doubling. Rank 0 keeps the
// longer half every time, and is the first into which a rank beyond P is folded.
Cost halving_doubling_all_reduce_cost(int ranks, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t levels = log2_below(ranks), inner = std::int64_t{1} << levels;
  const std::int64_t folded = ranks - inner, outside = folded > 0 ? 1 : 0;
  Cost cost{.depth = halving_doubling_depth(ranks, static_cast<int>(inner), count),
            .messages = 2 * folded,
            .elements = 2 * (ranks - 1) * count,
            .busiest = count + outside * count,
            .path = in_step(2 * outside, count)};
  for (std::int64_t level = 1; level <= levels; ++level) {
    const std::int64_t pieces = std::int64_t{1} << level, piece = parts(count, pieces);
    cost.messages += 2 * (inner / pieces) * std::min(count, pieces);
    if (level < levels) cost.busiest += piece;
    cost.path.latencies += 2;
    cost.path.messages += 2;
    cost.path.elements += 2 * piece;
  }
  return cost;
}

// In the node a rank sends all shards but its own, and then all but its right neighbour's. Between
// nodes each shard is the data of a ring.
LevelsCost hierarchical_all_reduce_cost(int ranks, int ranks_per_node, std::int64_t count) {
  if (nothing(ranks, count)) return {};
  const std::int64_t g = ranks_per_node, k = ranks / g;
  const auto length = [&](std::int64_t i) { return (i % g + 1) * count / g - i % g * count / g; };
  LevelsCost cost;
  cost.all = {.depth = 2 * (g - 1) + 2 * (k - 1),
              .messages = 2 * k * (g - 1) * std::min(count, g),
              .elements = 2 * k * (g - 1) * count};
  for (std::int64_t i = 0; i < g; ++i) {
    const Cost ring = ring_all_reduce_cost(static_cast<int>(k), length(i));
    const std::int64_t in_node = g > 1 ? 2 * count - length(i) - length(i + 1) : 0;
    cost.all.messages += ring.messages;
    cost.elements_between += ring.elements;
    cost.all.busiest = std::max(cost.all.busiest, in_node + ring.busiest);
    cost.between.elements = std::max(cost.between.elements, ring.path.elements);
  }
  cost.all.elements += cost.elements_between;
  cost.within = in_step(2 * (g - 1), parts(count, g));
  cost.between.latencies = cost.between.messages = 2 * (k - 1);
  return cost;
}

std::optional<Cost> cost_of(std::string_view part, int ranks, std::int64_t count) {
  struct Named {
    std::string_view part;
    Cost (*cost)(int ranks, std::int64_t count);
  };
  constexpr Named all[] = {{"exchange", exchange_cost},
                           {"broadcast", broadcast_cost},
                           {"reduce", reduce_cost},
                           {"scatter", scatter_cost},
                           {"gather", gather_cost},
                           {"all_gather", all_gather_cost},
                           {"reduce_scatter", reduce_scatter_cost},
                           {"all_to_all", all_to_all_cost},
                           {"naive_all_reduce", naive_all_reduce_cost},
                           {"ring_all_reduce", ring_all_reduce_cost},
                           {"tree_all_reduce", tree_all_reduce_cost},
                           {"halving_doubling_all_reduce", halving_doubling_all_reduce_cost}};
  if (part == "barrier") return barrier_cost(ranks);
  for (const Named& named : all) {
    if (named.part == part) return named.cost(ranks, count);
  }
  return std::nullopt;
}

}  // namespace lockstep::collectives
