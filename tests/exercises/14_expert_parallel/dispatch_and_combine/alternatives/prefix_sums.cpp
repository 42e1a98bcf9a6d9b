// The way of each row is computed from prefix sums of the counts, and the unequal all-to-all is
// used for the counts, too.
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::expert_parallel {

Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine) {
  check_dispatch(group, plan, tokens, weights);
  using Numbers = std::vector<std::int64_t>;
  const std::int64_t ranks = group.size(), own = plan.experts / ranks;
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  Numbers sent(at(plan.experts)), came(at(plan.experts)), token_of_place;
  for (const Route& place : plan.placed) {
    ++sent[at(place.expert)];
    token_of_place.push_back(place.token);
  }
  CpuDevice host;
  const Tensor in = zeros({plan.experts}, DType::int64, host), out = in.empty_like(plan.experts);
  std::copy(sent.begin(), sent.end(), in.data<std::int64_t>().begin());
  group.all_to_all(in, out, Numbers(at(ranks), own), Numbers(at(ranks), own));
  std::copy(out.data<std::int64_t>().begin(), out.data<std::int64_t>().end(), came.begin());

  // starts[i]: the first row that came of block i, which is by rank and then by expert.
  Numbers starts(came.size() + 1), of_experts, order, back_order, to(at(ranks)), from(at(ranks));
  std::partial_sum(came.begin(), came.end(), starts.begin() + 1);
  for (std::int64_t e = 0; e < own; ++e) {
    const std::size_t before = order.size();
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t block = rank * own + e;
      for (std::int64_t row = starts[at(block)]; row < starts[at(block + 1)]; ++row) {
        order.push_back(row);
      }
    }
    of_experts.push_back(static_cast<std::int64_t>(order.size() - before));
  }
  back_order.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back_order[at(order[i])] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t i = 0; i < plan.experts; ++i) {
    to[at(i / own)] += sent[at(i)];
    from[at(i / own)] += came[at(i)];
  }
  const Value rows = take_rows(tape, tokens, token_of_place);
  const Value received = exchange_rows(tape, group, rows, to, from);
  const Value results = mine(tape, take_rows(tape, received, order), of_experts);
  const Value returned = exchange_rows(tape, group, take_rows(tape, results, back_order), from, to);
  const Value weighed = autograd::multiply(
      tape, autograd::view(tape, weights, {weights.tensor.numel(), 1}), returned);
  return add_rows(tape, weighed, token_of_place, plan.tokens);
}

}  // namespace lockstep::expert_parallel
