// Native collectives: the k-th of a group runs when every member has entered it, as one priced
// operation. N members, b bytes of one member's tensor, each step one latency and one gap:
//
//   all_reduce   2(N-1) steps of b/N bytes (a ring)      reduced in the order of ranks: 0, 1, 2, …
//   all_gather   N-1 steps of b bytes
//   broadcast    ⌈log₂N⌉ steps of b bytes
//   barrier      2⌈log₂N⌉ steps of nothing; a split costs the same
//
// It begins when the last member has entered and the group's previous one is over. A tensor without
// elements' bytes (symbolic) makes the result symbolic; the price is the same.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

double price_s(const Request& request, std::size_t members, const Network& network) {
  const auto n = static_cast<double>(members);
  const auto bytes = static_cast<double>(bytes_of(request));
  const auto levels = static_cast<double>(std::bit_width(members - 1));  // ⌈log₂N⌉
  const auto steps = [&](double count, double step_bytes) {
    return count * (network.latency_s + network.gap_s + step_bytes / network.bandwidth_bytes_s);
  };
  if (request.op == Op::split) return steps(2 * levels, 0);
  switch (request.collective) {
    case Collective::all_reduce:
      return steps(2 * (n - 1), bytes / n);
    case Collective::all_gather:
      return steps(n - 1, bytes);
    case Collective::broadcast:
      return steps(levels, bytes);
    case Collective::barrier:
      break;
  }
  return steps(2 * levels, 0);
}

// One copy of the first, into which the others are reduced.
Payload reduced(const std::vector<OperationPtr>& members) {
  const Request& first = members.front()->request;
  Bytes sum(first.data.bytes.begin(), first.data.bytes.end());
  for (std::size_t i = 1; i < members.size(); ++i) {
    reduce_elements(first.dtype, first.reduce, sum.data(), members[i]->request.data.bytes.data(),
                    first.count);
  }
  return payload_of(std::move(sum));
}

Payload gathered(const std::vector<OperationPtr>& members) {
  Bytes all;
  all.reserve(members.size() * members.front()->request.data.bytes.size());
  for (const auto& member : members) {
    const auto& part = member->request.data.bytes;
    all.insert(all.end(), part.begin(), part.end());
  }
  return payload_of(std::move(all));
}

Payload result_of(const std::vector<OperationPtr>& members) {
  const Request& first = members.front()->request;
  if (first.collective == Collective::barrier || first.count == 0) return {};
  if (first.collective == Collective::broadcast) {
    return members[static_cast<std::size_t>(first.peer)]->request.data;
  }
  const bool symbolic = std::any_of(members.begin(), members.end(), [](const OperationPtr& member) {
    return member->request.data.bytes.empty();
  });
  if (symbolic) return {};
  return first.collective == Collective::all_reduce ? reduced(members) : gathered(members);
}

}  // namespace

int Group::rank_of(int global_rank) const {
  const auto at = std::find(members.begin(), members.end(), global_rank);
  return at == members.end() ? -1 : static_cast<int>(at - members.begin());
}

void Core::State::enter(const OperationPtr& operation) {
  const std::uint32_t id = operation->request.group;
  Group& group = groups_[id];
  const auto member = static_cast<std::size_t>(group.rank_of(operation->owner.rank));
  const std::uint64_t index = group.entered[member]++ - group.completed;
  while (group.open.size() <= index) {
    group.open.push_back({std::vector<OperationPtr>(group.members.size()), 0});
  }
  auto& slot = group.open[static_cast<std::size_t>(index)];
  slot.by_member[member] = operation;
  if (std::cmp_less(++slot.count, group.members.size())) return;
  // Full, and so is every earlier one (invariant 3): this is the front.
  Group::Slot full = std::move(group.open.front());
  group.open.pop_front();
  ++group.completed;
  run_collective(group, id, full);
}

void Core::State::run_collective(Group& group, std::uint32_t id, Group::Slot& slot) {
  if (Finding finding = mismatch_of(group, slot, group.completed); !finding.message.empty()) {
    return found(std::move(finding));
  }
  const Request& request = slot.by_member.front()->request;
  double begin = group.free_s;
  CollectiveRecord record{request.collective, id, bytes_of(request), {}, 0};
  for (const auto& member : slot.by_member) {
    begin = std::max(begin, member->posted_s);
    record.entered_s.push_back(member->posted_s);
  }
  const double done = begin + price_s(request, group.members.size(), options_.network);
  group.free_s = record.done_s = done;
  if (request.op == Op::split) return run_split(group, slot, done);

  const Payload result = result_of(slot.by_member);
  for (const auto& member : slot.by_member) {
    auto& counters = counters_.ranks[static_cast<std::size_t>(member->owner.rank)];
    ++counters.collectives;
    counters.collective_bytes += record.bytes;
    member->reply.data = result;
    member->request.data = {};
    member->done = true;
    member->done_s = done;
    resume(member);
  }
  counters_.collectives.push_back(std::move(record));
}

void Core::State::run_split(const Group& parent, Group::Slot& slot, double done_s) {
  std::map<int, std::vector<std::tuple<int, int, int>>> colors;  // color → (key, rank, global)
  const std::size_t size = parent.members.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Request& request = slot.by_member[i]->request;
    slot.by_member[i]->reply.rank = -1;
    if (request.color >= 0) {
      colors[request.color].emplace_back(request.key, static_cast<int>(i), parent.members[i]);
    }
  }
  for (auto& [color, places] : colors) {
    std::sort(places.begin(), places.end());
    Group made;
    made.free_s = done_s;
    made.entered.resize(places.size());
    for (const auto& [key, rank, global] : places) {
      Reply& reply = slot.by_member[static_cast<std::size_t>(rank)]->reply;
      reply.group = static_cast<std::uint32_t>(groups_.size());
      reply.rank = static_cast<int>(made.members.size());
      reply.size = static_cast<int>(places.size());
      made.members.push_back(global);
    }
    groups_.push_back(std::move(made));  // `parent` may move: it is not used below
  }
  for (const auto& member : slot.by_member) {
    member->done = true;
    member->done_s = done_s;
    resume(member);
  }
}

}  // namespace lockstep::sim
