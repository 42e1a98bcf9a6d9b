#include "grader/exam/collective/par_rules.hpp"

#include <algorithm>

#include "engine/collectives/cost.hpp"

namespace lockstep::grader {
namespace {

struct BestKnown {
  collectives::Cost cost;
  double seconds = 0;
};

// The length of all blocks of an all-to-all; nullopt where they differ.
std::optional<std::int64_t> equal_blocks(const CollectiveProblem& p) {
  const std::int64_t first = p.sends.front().front();
  for (const auto& row : p.sends) {
    if (std::ranges::any_of(row, [&](std::int64_t count) { return count != first; })) return {};
  }
  return first;
}

std::optional<BestKnown> best_known(const std::string& part, const CollectiveProblem& p) {
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  if (p.nodes) {
    const sim::Network& network = p.nodes->network;
    const auto levels =
        collectives::hierarchical_all_reduce_cost(p.size(), p.nodes->ranks_each, p.count);
    return BestKnown{levels.all, seconds(levels.within, network.within(), size) +
                                     seconds(levels.between, network.between, size)};
  }
  const auto count = p.sends.empty() ? std::optional(p.count) : equal_blocks(p);
  if (!count) return std::nullopt;
  const auto cost = collectives::cost_of(part, p.size(), *count);
  if (!cost) return std::nullopt;
  return BestKnown{*cost, seconds(cost->path, p.network.within(), size)};
}

}  // namespace

void note_par(CaseRunner& runner, const Played& played, const CollectiveProblem& p) {
  const auto best = best_known(runner.exercise(), p);
  if (!best) return;
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  std::int64_t busiest = 0, messages = 0;
  for (const auto& rank : played.counters.ranks) {
    busiest = std::max(busiest, rank.bytes_sent);
    messages += rank.messages_sent;
  }
  const auto note = [&](const char* name, auto seen, auto of_the_best) {
    runner.note_par(name, static_cast<double>(seen), static_cast<double>(of_the_best), played);
  };
  note("bytes", busiest, best->cost.busiest * size);
  note("steps", played.counters.depth, best->cost.depth);
  note("messages", messages, best->cost.messages);
  note("time", played.counters.makespan_s, best->seconds);
}

}  // namespace lockstep::grader
