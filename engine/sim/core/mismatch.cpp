// Compares what all members of a group must agree on, and makes the sentence if they do not.
#include <algorithm>

#include "engine/base/units.hpp"
#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

std::string counts_text(const std::vector<std::int64_t>& counts) {
  std::string result = "[";
  for (const std::int64_t count : counts) result += text(result.size() > 1 ? ", " : "", count);
  return result + "]";
}

// In a full all_to_all each member must expect what the other sends.
Finding uneven_exchange(const Group& group, const Group::Slot& slot, std::uint64_t index) {
  const auto n = slot.by_member.size();
  if (std::cmp_less(slot.count, n)) return {};
  const auto& any = request_of(*slot.by_member.front());
  if (any.op == Op::split || !traits_of(any.collective).is_exchange()) return {};
  for (std::size_t src = 0; src < n; ++src) {
    const Request& sender = request_of(*slot.by_member[src]);
    for (std::size_t dst = 0; dst < n; ++dst) {
      const Request& receiver = request_of(*slot.by_member[dst]);
      const std::int64_t sent = sender.counts[dst], expected = receiver.counts[n + src];
      if (sent == expected) continue;
      return {FindingKind::mismatch,
              text("mismatch: in collective number ", index, group_of(sender, group),
                   ", all_to_all, rank ", group.members[src], " sends ", counted(sent, "element"),
                   " to rank ", group.members[dst], and_place(sender), ", which expects ", expected,
                   and_place(receiver), "; each rank must receive exactly what its peer sends"),
              {group.members[src], group.members[dst]},
              place_of(sender)};
    }
  }
  return {};
}

// True if call_of says the same of both. Every collective of a run is checked, and texts would be a
// tenth of its time.
bool same_call(const Request& a, const Request& b) {
  if (a.op == Op::split || b.op == Op::split) return a.op == b.op;
  const CollectiveTraits& traits = traits_of(a.collective);
  return a.collective == b.collective && (!traits.reduces || a.reduce == b.reduce) &&
         (!traits.has_root() || a.peer == b.peer) &&
         (traits.givers == Ranks::none ||
          (a.dtype == b.dtype &&
           (traits.is_exchange() ||
            (a.counts.empty() && b.counts.empty() ? a.count == b.count : a.counts == b.counts))));
}

// The first difference between two calls of one collective, or nothing.
std::string_view difference_of(const Request& a, const Request& b) {
  if ((a.op == Op::split) != (b.op == Op::split) || a.op == Op::split) return {};
  if (a.collective != b.collective) return {};
  if (a.peer != b.peer) return "root";
  if (a.dtype != b.dtype) return "element type";
  if (a.reduce != b.reduce) return "operator";
  return "number of elements";
}

}  // namespace

std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t all_max = 8, parts_max = 6;
  const bool brief = ranks.size() > all_max;
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < ranks.size() && !(brief && parts.size() == parts_max)) {
    std::size_t end = at + 1;
    while (brief && end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - at < 3) end = at + 1;
    parts.push_back(end - at == 1 ? text(ranks[at]) : text(ranks[at], " to ", ranks[end - 1]));
    at = end;
  }
  if (at < ranks.size()) parts.push_back(text(ranks.size() - at, " more"));
  std::string result = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    result += text(i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ", parts[i]);
  }
  return result;
}

std::string call_of(const Request& request) {
  if (request.op == Op::split) return "split";
  const CollectiveTraits& traits = traits_of(request.collective);
  std::string call(traits.name);
  if (traits.reduces) call += text("(", name_of(request.reduce), ")");
  if (traits.has_root()) {
    call += text(traits.givers == Ranks::root ? " from root " : " to root ", request.peer);
  }
  if (traits.givers == Ranks::none) return call;
  call += " of ";
  // The amounts of an exchange are compared pair by pair.
  if (!traits.is_exchange()) {
    call += request.counts.empty() ? text(request.count) : counts_text(request.counts);
    call += " ";
  }
  return text(call, name_of(request.dtype));
}

FoundCall found_call(const Operation& operation) {
  const Request& request = request_of(operation);
  return {operation.owner.rank, request.count, request.dtype, operation.posted_s};
}

std::string group_of(const Request& request, const Group& group) {
  return request.group == 0 ? ""
                            : text(" in group ", request.group, " (", list_of(group.members), ")");
}

Finding Core::State::mismatch_of(const Group& group, const Group::Slot& slot,
                                 std::uint64_t index) const {
  const auto present = [](const auto& member) { return bool(member); };
  const auto one = std::ranges::find_if(slot.by_member, present);
  if (std::ranges::all_of(slot.by_member, [&](const auto& member) {
        return !member || same_call(request_of(*member), request_of(**one));
      })) {
    return uneven_exchange(group, slot, index);
  }
  std::map<std::string, std::vector<std::size_t>> by_call;  // what was called → by which members
  for (std::size_t i = 0; i < slot.by_member.size(); ++i) {
    if (slot.by_member[i]) by_call[call_of(request_of(*slot.by_member[i]))].push_back(i);
  }
  // The fewest are named first: they are the likelier ones to be wrong.
  std::vector<std::pair<std::string, std::vector<std::size_t>>> calls(by_call.begin(),
                                                                      by_call.end());
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  Finding finding{FindingKind::mismatch, {}, {}, {}};
  const Request& first = request_of(*slot.by_member[calls.front().second.front()]);
  finding.where = place_of(first);
  finding.message = text("mismatch: as collective number ", index, group_of(first, group), ", ");
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& [call, members] = calls[i];
    std::vector<int> ranks;
    for (const std::size_t member : members) ranks.push_back(group.members[member]);
    finding.message += text(i == 0   ? ""
                            : i == 1 ? ", while "
                                     : " and ",
                            list_of(ranks), ranks.size() == 1 ? " calls " : " call ", call,
                            and_place(request_of(*slot.by_member[members.front()])));
    finding.ranks.insert(finding.ranks.end(), ranks.begin(), ranks.end());
    for (const std::size_t member : members) {
      finding.calls.push_back(found_call(*slot.by_member[member]));
    }
  }
  finding.message += "; all ranks of a group must call the same collectives in the same order";
  const Request& second = request_of(*slot.by_member[calls[1].second.front()]);
  if (const auto what = difference_of(first, second); !what.empty()) {
    finding.message += text(", with the same ", what);
  }
  return finding;
}

}  // namespace lockstep::sim
