// Task: send tokens to the ranks of the experts that they have chosen, compute with this rank's
// experts, send the results back, weigh them and add them up. The contract is in
// engine/parallel/expert/dispatch_and_combine.hpp.
#include "engine/parallel/expert/dispatch_and_combine.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::expert_parallel {

// >>> your code
namespace {

std::int64_t sum_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace
// <<< your code

Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine) {
  check_dispatch(group, plan, tokens, weights);
  // >>> your code
  using Counts = std::vector<std::int64_t>;
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t own = static_cast<std::size_t>(plan.experts) / ranks;  // experts of a rank

  // The counts go first: by expert; what comes is by rank, then by expert of this one. They have
  // numbers even where rows have none.
  CpuDevice host;
  const Tensor sent = zeros({plan.experts}, DType::int64, host);
  Counts taken;
  for (const Route& place : plan.placed) {
    sent.data<std::int64_t>()[static_cast<std::size_t>(place.expert)] += 1;
    taken.push_back(place.token);
  }
  const Tensor came = zeros({plan.experts}, DType::int64, host);
  group.all_to_all(sent, came);
  Counts to_ranks(ranks), from_ranks(ranks), of_experts(own);
  for (std::size_t i = 0; i < ranks * own; ++i) {
    to_ranks[i / own] += sent.data<std::int64_t>()[i];
    from_ranks[i / own] += came.data<std::int64_t>()[i];
    of_experts[i % own] += came.data<std::int64_t>()[i];
  }

  // Rows come by rank, and are wanted by expert: row by_expert[i] of those that came is number i.
  Counts by_expert, by_rank(static_cast<std::size_t>(sum_of(from_ranks)));
  for (std::size_t expert = 0; expert < own; ++expert) {
    std::int64_t row = 0;
    for (std::size_t i = 0; i < ranks * own; ++i) {
      const std::int64_t count = came.data<std::int64_t>()[i];
      for (std::int64_t n = 0; i % own == expert && n < count; ++n) by_expert.push_back(row + n);
      row += count;
    }
  }
  for (std::size_t i = 0; i < by_expert.size(); ++i) {
    by_rank[static_cast<std::size_t>(by_expert[i])] = static_cast<std::int64_t>(i);
  }

  const Value out = take_rows(tape, tokens, taken);
  const Value in = exchange_rows(tape, group, out, to_ranks, from_ranks);
  const Value done = mine(tape, take_rows(tape, in, by_expert), of_experts);
  const Value back =
      exchange_rows(tape, group, take_rows(tape, done, by_rank), from_ranks, to_ranks);
  const Value column = autograd::view(tape, weights, {std::ssize(plan.placed), 1});
  return add_rows(tape, autograd::multiply(tape, back, column), taken, plan.tokens);
  // <<< your code
}

}  // namespace lockstep::expert_parallel
