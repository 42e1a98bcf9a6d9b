// Native collectives: the k-th of a group runs when every member has entered it, as one priced
// operation (price.hpp). Those that reduce do it in the order of ranks: 0, 1, 2, …
//
// It begins when the last member has entered and the group's previous one is over. A tensor without
// elements' bytes (symbolic) makes the result symbolic; the price is the same.
#include <algorithm>
#include <numeric>
#include <set>

#include "engine/sim/core/core_state.hpp"
#include "engine/sim/model/price.hpp"

namespace lockstep::sim {

namespace {

using Members = std::vector<OperationPtr>;
using Pieces = std::vector<std::span<const std::byte>>;

const Request& whole_of(const OperationPtr& member) { return member->whole->request; }

std::span<const std::byte> data_of(const Members& members, std::size_t rank) {
  return whole_of(members[rank]).data.bytes;
}

// One copy of the first, into which the others are reduced.
Payload reduced(const Members& members) {
  const Request& first = whole_of(members.front());
  const std::int64_t count = given_count(first, members.size());
  Bytes sum(first.data.bytes.begin(), first.data.bytes.end());
  for (std::size_t i = 1; i < members.size(); ++i) {
    reduce_elements(first.dtype, first.reduce, sum.data(), data_of(members, i).data(), count);
  }
  return payload_of(std::move(sum));
}

Payload joined(const Pieces& parts) {
  Bytes all;
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size();
  all.reserve(size);
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return payload_of(std::move(all));
}

Payload gathered(const Members& members) {
  Pieces parts;
  for (std::size_t i = 0; i < members.size(); ++i) parts.push_back(data_of(members, i));
  return joined(parts);
}

// Equal shares of what one member holds, by rank.
std::vector<Payload> shares_of(const Payload& whole, std::size_t members) {
  const std::size_t share = whole.bytes.size() / members;
  std::vector<Payload> shares;
  for (std::size_t i = 0; i < members; ++i) {
    shares.push_back({whole.bytes.subspan(i * share, share), whole.owner});
  }
  return shares;
}

// Member i gets, from each j, what j cut for i.
std::vector<Payload> exchanged(const Members& members) {
  const std::size_t n = members.size();
  std::vector<Pieces> parts(n, Pieces(n));  // by receiver, by sender
  for (std::size_t src = 0; src < n; ++src) {
    const Request& request = whole_of(members[src]);
    std::span<const std::byte> rest = request.data.bytes;
    for (std::size_t dst = 0; dst < n; ++dst) {
      const auto bytes = static_cast<std::size_t>(request.counts[dst]) * bytes_of(request.dtype);
      parts[dst][src] = rest.first(bytes);
      rest = rest.subspan(bytes);
    }
  }
  std::vector<Payload> results;
  for (const Pieces& of_one : parts) results.push_back(joined(of_one));
  return results;
}

// The payload that each member gets.
std::vector<Payload> results_of(const Members& members) {
  const Request& first = whole_of(members.front());
  const CollectiveTraits& traits = traits_of(first.collective);
  const std::size_t n = members.size();
  const auto root = static_cast<std::size_t>(std::max(first.peer, 0));
  std::vector<Payload> results(n);
  const auto is_symbolic = [&](const OperationPtr& member) {
    return whole_of(member).data.bytes.empty() && given_count(whole_of(member), n) > 0;
  };
  if (traits.givers == Ranks::none) return results;
  if (traits.givers == Ranks::all && std::ranges::any_of(members, is_symbolic)) return results;
  if (traits.is_exchange()) return exchanged(members);

  const Payload whole = traits.givers == Ranks::root ? whole_of(members[root]).data
                        : traits.reduces             ? reduced(members)
                                                     : gathered(members);
  if (traits.given == Parts::each) return shares_of(whole, n);
  if (traits.takers == Ranks::all) results.assign(n, whole);
  if (traits.takers == Ranks::root) results[root] = whole;
  return results;
}

}  // namespace

std::int64_t given_count(const Request& request, std::size_t members) {
  if (request.op != Op::collective && request.op != Op::icollective) return request.count;
  const CollectiveTraits& traits = traits_of(request.collective);
  if (traits.is_exchange()) {
    return std::accumulate(request.counts.begin(),
                           request.counts.begin() + static_cast<std::ptrdiff_t>(members),
                           std::int64_t{0});
  }
  return traits.given == Parts::each ? static_cast<std::int64_t>(members) * request.count
                                     : request.count;
}

std::int64_t given_bytes(const Request& request, std::size_t members) {
  return given_count(request, members) * static_cast<std::int64_t>(bytes_of(request.dtype));
}

int Group::rank_in_part(int global_rank) const {
  const auto at = rank_by_global.find(global_rank);
  return at == rank_by_global.end() ? -1 : at->second;
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
  // A rank that is gone may have entered before: what it brought is not summed, and who waits is
  // told.
  const auto is_lost = [&](int rank) { return !lost_[static_cast<std::size_t>(rank)].empty(); };
  if (any_lost_ && std::ranges::any_of(group.members, is_lost)) return;
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
  const Request& request = whole_of(slot.by_member.front());
  double begin = group.free_s;
  CollectiveRecord record{request.collective, id, 0, {}, 0, request.dtype, request.reduce};
  for (const auto& member : slot.by_member) {
    record.bytes = std::max(record.bytes, given_bytes(whole_of(member), group.members.size()));
    begin = std::max(begin, member->posted_s);
    record.entered_s.push_back(member->posted_s);
  }
  const Extent extent{static_cast<int>(group.members.size()), group.nodes};
  const bool split = request.op == Op::split;  // costs what a barrier does
  double price = price_s(split ? Collective::barrier : request.collective, extent, record.bytes,
                         options_.network);
  if (faults_) price *= faults_->slowness_among(group.members);
  const double done = begin + price;
  if (faults_ && is_doomed(group, slot, done)) return;
  group.free_s = record.done_s = done;
  if (split) return run_split(group, slot, done);

  counters_.by_collectives += sent_bytes(request.collective, extent, record.bytes);
  const std::vector<Payload> results = results_of(slot.by_member);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const OperationPtr& member = slot.by_member[i];
    auto& counters = counters_.ranks[static_cast<std::size_t>(member->owner.rank)];
    ++counters.collectives;
    counters.collective_bytes += given_bytes(whole_of(member), results.size());
    member->whole->reply.data = results[i];
    member->whole->request.data = {};
    member->request.data = {};
    member->done = true;
    member->done_s = done;
    if (recorder_) recorder_->collective(*member, record.bytes, begin, done);
    member->whole->reply.ran_s = done - begin;
    resume(*member);
  }
  counters_.collectives.push_back(std::move(record));
}

void Core::State::run_split(const Group& parent, Group::Slot& slot, double done_s) {
  std::map<int, std::vector<std::tuple<int, int, int>>> colors;  // color → (key, rank, global)
  const std::size_t size = parent.members.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Request& request = whole_of(slot.by_member[i]);
    slot.by_member[i]->whole->reply.rank = -1;
    if (request.color >= 0) {
      colors[request.color].emplace_back(request.key, static_cast<int>(i), parent.members[i]);
    }
  }
  for (auto& [color, places] : colors) {
    std::sort(places.begin(), places.end());
    Group made;
    made.free_s = done_s;
    std::set<int> nodes;
    made.entered.resize(places.size());
    for (const auto& [key, rank, global] : places) {
      Reply& reply = slot.by_member[static_cast<std::size_t>(rank)]->whole->reply;
      reply.group = static_cast<std::uint32_t>(groups_.size());
      reply.rank = static_cast<int>(made.members.size());
      reply.size = static_cast<int>(places.size());
      made.rank_by_global[global] = reply.rank;
      made.members.push_back(global);
      nodes.insert(options_.network.node_of(global));
    }
    made.nodes = static_cast<int>(nodes.size());
    groups_.push_back(std::move(made));  // `parent` may move: it is not used below
  }
  for (const auto& member : slot.by_member) {
    member->done = true;
    member->done_s = done_s;
    resume(*member);
  }
}

}  // namespace lockstep::sim
