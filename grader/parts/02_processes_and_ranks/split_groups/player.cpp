// Plays split_groups: as a pure function, or for real, where the ranks tell each other their colors
// and keys, and then pass tokens round the groups that come of it.
#include "grader/parts/02_processes_and_ranks/split_groups/case.hpp"

#include "engine/comm/worlds/plan_split.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "grader/play/function_play.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {
namespace {

// An all-gather of one token a member, round the ring of members; by rank in the new group.
std::vector<std::int64_t> passed_round(comm::ProcessGroup& world, const comm::GroupPlan& plan,
                                       std::int64_t token, Device& device) {
  const auto size = static_cast<int>(plan.members.size());
  const auto member = [&](int r) {
    return plan.members.at(static_cast<std::size_t>((r % size + size) % size));
  };
  std::vector<std::int64_t> tokens(plan.members.size(), -1);
  tokens.at(static_cast<std::size_t>(plan.rank)) = token;
  Tensor carried = empty({1}, DType::int64, device);
  carried.data<std::int64_t>()[0] = token;
  for (int step = 1; step < size; ++step) {
    comm::Work sent = world.isend(carried, member(plan.rank + 1));
    const Tensor came = empty({1}, DType::int64, device);
    world.recv(came, member(plan.rank - 1));
    sent.wait();
    tokens[static_cast<std::size_t>((plan.rank - step + size) % size)] =
        came.data<std::int64_t>()[0];
    carried = came;
  }
  return tokens;
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  if (played.input.get<SplitForm>() == SplitForm::questions) {
    return answer_or_refuse_each<SplitQuestion>(
        played, [](const SplitQuestion& q) { return comm::split_groups(q.of_all_ranks, q.rank); });
  }
  const auto given = read_fields<SplitExchange>(played.input);
  PoisonDevice device;
  const auto world = comm::make_sim_group(played.port, played.rank, played.ranks);
  SplitReport report{comm::plan_split(*world, given.mine, comm::Where::current()), {}};
  if (report.plan) report.tokens = passed_round(*world, *report.plan, given.token, device);
  return fields_to_bytes(report);
}

}  // namespace lockstep::grader
