#include "grader/parts/11_sharding/zero_1_optimizer/cost.hpp"

#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/exam/ranks/wire_price.hpp"

namespace lockstep::grader::zero_1_optimizer {
namespace {

std::int64_t bytes_in(const Problem& p, std::int64_t numbers) {
  return numbers * static_cast<std::int64_t>(bytes_of(p.dtype));
}

// The bytes that a rank brings to the transfers that `counts` takes by when they begin and end.
double bytes_of(const sim::Counters& all, int rank, const auto& counts) {
  sim::Counters some;
  some.ranks.resize(1);
  for (const sim::CollectiveRecord& record : all.collectives) {
    const bool by_all = record.entered_s.size() == all.ranks.size();  // and no smaller group
    const double begin_s =
        by_all ? record.entered_s[static_cast<std::size_t>(rank)] : record.done_s;
    if (counts(begin_s, record.done_s)) some.collectives.push_back(record);
  }
  for (const sim::MessageRecord& message : all.messages) {
    const bool mine = message.src == rank && counts(message.sent_s, message.sent_s);
    if (mine) some.ranks.front().bytes_sent += message.bytes;
  }
  return busiest_rank_bytes(some);
}

// A member tells of a step between its transfers and those of the next one: it could do so before
// it has begun to hold anything. Every step moves the same.
//   Throws  MalformedMessage
void require_in_turn(const Played& played, const Problem& p, const MomentService& moments,
                     int rank) {
  const std::vector<double>& told_s = moments.of(rank).told_s;
  const auto bytes = [&](const auto& counts) { return bytes_of(played.counters, rank, counts); };
  const double each = bytes([](double, double) { return true; }) / p.steps;
  for (int step = 1; step < p.steps; ++step) {
    const double told = told_s[static_cast<std::size_t>(step)], slack = each / 128;
    const double over = bytes([&](double, double end_s) { return end_s <= told; });
    const double begun = bytes([&](double begin_s, double) { return begin_s < told; });
    if (over < step * each - slack || begun > step * each + slack) {
      throw MalformedMessage(text("a member told of step ", step, " out of turn"));
    }
  }
  if (told_s.back() < played.counters.ranks[static_cast<std::size_t>(rank)].clock_s) {
    throw MalformedMessage("a member told of its last step before that was over");
  }
}

}  // namespace

void check_bytes(CaseRunner& runner, const Played& played, const Problem& p) {
  const double once = p.steps * shard_bytes(bytes_in(p, p.plan().padded()), p.ranks());
  check_wire(
      runner, played,
      {.enough = 2 * once,
       .of_what =
           text("a reduce-scatter of the gradients and an all-gather of the parameters in each of ",
                counted(p.steps, "step")),
       .mistakes = {
           {3 * once,
            {"all_reduced",
             "gradients are all-reduced, or ranges are broadcast one by one; a reduce-scatter "
             "gives each owner its range alone, for half the bytes"}},
           {4 * once,
            {"state_gathered", "the state travels, too; nobody but its owner needs it"}}}});
  // One pair for each parameter at most, and no barrier.
  const std::int64_t pairs = std::int64_t{p.steps} * std::ssize(p.sizes);
  check_operations(
      runner, played,
      {.collectives = pairs,
       .allowed = "a reduce-scatter and an all-gather of each parameter in each step"});
}

// A group may reduce an average in a copy of its own, which multiplies by 1/N and is no buffer of
// the part.
bool averaged(const sim::Counters& counters) {
  return std::ranges::any_of(counters.collectives, [](const sim::CollectiveRecord& record) {
    return record.kind == sim::Collective::reduce_scatter && record.reduce == ReduceOp::average;
  });
}

// The state of a range is two tensors. The adapter has the parameters, and the case in two forms:
// as it came, and taken apart. The gradients of a step are there until it is over.
void check_cost(CaseRunner& runner, const Played& played, const Problem& p,
                const MomentService& moments) {
  check_bytes(runner, played, p);
  const zero::FlatShards plan = p.plan();
  const std::int64_t whole = bytes_in(p, plan.count), shard = bytes_in(p, plan.shard);
  const std::int64_t state = 2 * shard + 4096, buffer = bytes_in(p, plan.padded());
  const std::int64_t of_group = averaged(played.counters) ? buffer : 0;
  const std::int64_t adapter = whole + 2 * ((1 + p.steps) * whole + 2 * shard);
  for (int rank = 0; rank < p.ranks(); ++rank) {
    require_in_turn(played, p, moments, rank);
    check_member_memory(
        runner, played, rank, moments.of(rank),
        {.tensor_bytes = state,
         .adapter_bytes = adapter,
         .of_what = "the state of its own range",
         .cause = {"state_whole",
                   "something as large as the model lives on after the step: the moments of all "
                   "parameters, or a buffer that step() made"}});
    check_member_peak(
        runner, played, rank, moments.of(rank),
        {.tensor_bytes = state + whole + buffer + 2 * shard + of_group,
         .adapter_bytes = adapter,
         .of_what = "the gradients, the state of its own range, and one buffer of N·S elements",
         .cause = {"two_buffers",
                   "two buffers as large as the model exist at one time, or step() makes more than "
                   "it needs: let the one that is reduced end before you make the one that is "
                   "gathered"}});
  }
}

}  // namespace lockstep::grader::zero_1_optimizer
