// Rows for this rank's own experts never enter the exchange: only what is computed elsewhere
// travels. They are put before the rows that came, and taken out of the results again.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::expert_parallel {

Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine) {
  check_dispatch(group, plan, tokens, weights);
  using Numbers = std::vector<std::int64_t>;
  const std::int64_t own = plan.experts / group.size(), self = group.rank();
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  CpuDevice host;
  const Tensor sent = zeros({plan.experts}, DType::int64, host);
  const Tensor came = zeros({plan.experts}, DType::int64, host);
  Numbers here, away, token_here, token_away, to(at(group.size())), from = to;
  for (std::size_t i = 0; i < plan.placed.size(); ++i) {
    const Route& place = plan.placed[i];
    ++sent.data<std::int64_t>()[at(place.expert)];
    const bool stays = place.expert / own == self;
    (stays ? here : away).push_back(static_cast<std::int64_t>(i));
    (stays ? token_here : token_away).push_back(place.token);
    if (!stays) ++to[at(place.expert / own)];
  }
  group.all_to_all(sent, came);

  // The expert of each row: first of those that stay, then of those that come, rank by rank.
  Numbers expert_of_row, of_experts(at(own));
  for (const std::int64_t i : here) expert_of_row.push_back(plan.placed[at(i)].expert % own);
  for (std::int64_t i = 0; i < plan.experts; ++i) {
    const std::int64_t count = came.data<std::int64_t>()[at(i)];
    of_experts[at(i % own)] += count;
    if (i / own == self) continue;
    from[at(i / own)] += count;
    expert_of_row.insert(expert_of_row.end(), at(count), i % own);
  }
  Numbers order(expert_of_row.size()), back(expert_of_row.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t row) { return expert_of_row[at(row)]; });
  for (std::size_t i = 0; i < order.size(); ++i) back[at(order[i])] = static_cast<std::int64_t>(i);

  const Value arrived = exchange_rows(tape, group, take_rows(tape, tokens, token_away), to, from);
  const Value stayed = take_rows(tape, tokens, token_here);
  const Value all = autograd::concatenate(tape, std::vector<Value>{stayed, arrived}, 0);
  const Value done = take_rows(tape, mine(tape, take_rows(tape, all, order), of_experts), back);
  const auto stays = static_cast<std::int64_t>(here.size()), rows = done.tensor.size(0);
  const Value returned =
      exchange_rows(tape, group, autograd::narrow(tape, done, 0, stays, rows - stays), from, to);
  const Value kept = autograd::narrow(tape, done, 0, 0, stays);
  const Value results = autograd::concatenate(tape, std::vector<Value>{kept, returned}, 0);

  Numbers places = here, token_of_row = token_here;
  places.insert(places.end(), away.begin(), away.end());
  token_of_row.insert(token_of_row.end(), token_away.begin(), token_away.end());
  const Value column =
      take_rows(tape, autograd::view(tape, weights, {std::ssize(plan.placed), 1}), places);
  return add_rows(tape, autograd::multiply(tape, results, column), token_of_row, plan.tokens);
}

}  // namespace lockstep::expert_parallel
