// Without a search: ranks that need nobody, or only such as need nobody, are struck out; who is
// left hangs. Sequence numbers are compared first.
#include <algorithm>
#include <map>

#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {
namespace {

using Ranks = std::vector<int>;

struct Reader {
  const HangReport& report;

  const RankRecord& of(int rank) const { return report.ranks[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(report.ranks.size()); }
  bool waits(int rank) const { return of(rank).doing == Activity::waiting; }
  bool collects(int rank) const { return waits(rank) && !is_message(of(rank).last); }

  bool needs(int rank, int other) const {
    const CallRecord& call = of(rank).last;
    if (!waits(rank) || rank == other) return false;
    if (is_message(call)) return call.peer == other;
    const auto group = static_cast<std::size_t>(call.group);
    const Ranks& members = report.groups[group];
    return std::find(members.begin(), members.end(), other) != members.end() &&
           of(other).called[group] < call.number;
  }

  // Who needs one of these, and what is the highest number of a collective in which it does.
  Diagnosis needed(HangKind kind, Activity what) const {
    Diagnosis found{kind, {}, 0};
    for (int other = 0; other < size(); ++other) {
      bool is_needed = false;
      for (int rank = 0; rank < size(); ++rank) {
        if (of(other).doing != what || !needs(rank, other)) continue;
        is_needed = true;
        found.number = std::max(found.number, of(rank).last.number);
      }
      if (is_needed) found.culprits.push_back(other);
    }
    return found;
  }

  Ranks stuck() const {
    std::vector<char> free(report.ranks.size());
    for (int round = 0; round < size(); ++round) {
      for (int rank = 0; rank < size(); ++rank) {
        bool is_free = true;
        for (int other = 0; other < size(); ++other) {
          if (needs(rank, other) && !free[static_cast<std::size_t>(other)]) is_free = false;
        }
        free[static_cast<std::size_t>(rank)] = is_free;
      }
    }
    Ranks left;
    for (int rank = 0; rank < size(); ++rank) {
      if (!free[static_cast<std::size_t>(rank)]) left.push_back(rank);
    }
    return left;
  }
};

Diagnosis of_calls(const Reader& reader) {
  std::map<std::pair<int, std::int64_t>, std::vector<Ranks>> places;
  for (int rank = 0; rank < reader.size(); ++rank) {
    if (!reader.collects(rank)) continue;
    const CallRecord& call = reader.of(rank).last;
    auto& calls = places[{call.group, call.number}];
    const auto same = std::find_if(calls.begin(), calls.end(), [&](const Ranks& ranks) {
      return reader.of(ranks.front()).last == call;
    });
    if (same == calls.end()) {
      calls.push_back({rank});
    } else {
      same->push_back(rank);
    }
  }
  for (auto& [place, calls] : places) {
    if (calls.size() < 2) continue;
    std::sort(calls.begin(), calls.end(),
              [](const Ranks& a, const Ranks& b) { return a.size() < b.size(); });
    const CallRecord& few = reader.of(calls[0].front()).last;
    const CallRecord& most = reader.of(calls[1].front()).last;
    const HangKind kind = few.kind != most.kind   ? HangKind::wrong_call
                          : few.peer != most.peer ? HangKind::wrong_root
                                                  : HangKind::wrong_count;
    return {kind, calls[0], place.second};
  }
  return {};
}

}  // namespace

Diagnosis diagnose(const HangReport& report) {
  const Reader reader{report};
  if (auto found = of_calls(reader); !found.culprits.empty()) return found;
  auto gone = reader.needed(HangKind::early_exit, Activity::returned);
  if (!gone.culprits.empty()) return gone;
  const Ranks stuck = reader.stuck();
  if (stuck.empty()) return reader.needed(HangKind::slow, Activity::computing);
  // Whoever goes from stuck rank to stuck rank walks into the cycle.
  const auto next = [&](int rank) {
    return *std::find_if(stuck.begin(), stuck.end(),
                         [&](int other) { return reader.needs(rank, other); });
  };
  int at = stuck.front();
  for (int i = 0; i < reader.size(); ++i) at = next(at);
  Ranks cycle{at};
  for (int rank = next(at); rank != at; rank = next(rank)) cycle.push_back(rank);
  std::map<std::pair<int, std::int64_t>, Ranks> collectives;
  for (const int rank : cycle) {
    if (reader.collects(rank))
      collectives[{reader.of(rank).last.group, reader.of(rank).last.number}];
  }
  if (collectives.empty()) {
    std::sort(cycle.begin(), cycle.end());
    return {HangKind::cycle, cycle, 0};
  }
  for (int rank = 0; rank < reader.size(); ++rank) {
    const CallRecord& call = reader.of(rank).last;
    if (!reader.collects(rank) || !collectives.contains({call.group, call.number})) continue;
    collectives[{call.group, call.number}].push_back(rank);
  }
  const auto& [place, ranks] = *std::max_element(
      collectives.begin(), collectives.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  Ranks missing;
  for (int other = 0; other < reader.size(); ++other) {
    if (reader.needs(ranks.front(), other)) missing.push_back(other);
  }
  return {collectives.size() > 1 ? HangKind::wrong_group : HangKind::left_out, missing,
          place.second};
}

}  // namespace lockstep::comm
