// Wrong on purpose: the experts' results are added up, and the router's weights are forgotten.
#include <cstddef>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::expert_parallel {

Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& /*weights*/, const Experts& mine) {
  using Counts = std::vector<std::int64_t>;
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t own = static_cast<std::size_t>(plan.experts) / ranks;
  CpuDevice host;
  const Tensor sent = zeros({plan.experts}, DType::int64, host);
  const Tensor came = zeros({plan.experts}, DType::int64, host);
  Counts taken;
  for (const Route& place : plan.placed) {
    sent.data<std::int64_t>()[static_cast<std::size_t>(place.expert)] += 1;
    taken.push_back(place.token);
  }
  group.all_to_all(sent, came);
  Counts to_ranks(ranks), from_ranks(ranks), of_experts(own);
  std::vector<Counts> rows_of(own);  // of each expert of this rank, among those that came
  std::int64_t row = 0;
  for (std::size_t i = 0; i < ranks * own; ++i) {
    const std::int64_t count = came.data<std::int64_t>()[i];
    to_ranks[i / own] += sent.data<std::int64_t>()[i];
    from_ranks[i / own] += count;
    of_experts[i % own] += count;
    for (std::int64_t n = 0; n < count; ++n) rows_of[i % own].push_back(row++);
  }
  Counts by_expert, by_rank(static_cast<std::size_t>(row));
  for (const Counts& rows : rows_of) by_expert.insert(by_expert.end(), rows.begin(), rows.end());
  for (std::size_t i = 0; i < by_expert.size(); ++i) {
    by_rank[static_cast<std::size_t>(by_expert[i])] = static_cast<std::int64_t>(i);
  }
  const Value in = exchange_rows(tape, group, take_rows(tape, tokens, taken), to_ranks, from_ranks);
  const Value done = mine(tape, take_rows(tape, in, by_expert), of_experts);
  const Value back =
      exchange_rows(tape, group, take_rows(tape, done, by_rank), from_ranks, to_ranks);
  return add_rows(tape, back, taken, plan.tokens);
}

}  // namespace lockstep::expert_parallel
