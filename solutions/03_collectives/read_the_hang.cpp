// Task: read a hang. From each rank's last call and its activity, say what happened, which ranks
// are to blame, and at which collective. The kinds to tell apart are in
// engine/comm/hang_report.hpp.
#include <algorithm>
#include <set>

#include "engine/comm/hang_report.hpp"

namespace lockstep::comm {
// >>> your code
namespace {

const RankRecord& record_of(const HangReport& report, int rank) {
  return report.ranks[static_cast<std::size_t>(rank)];
}

// The ranks that wait, in a collective if one is asked for: that of this group and number.
std::vector<int> waiting_in(const HangReport& report, const CallRecord* collective = nullptr) {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(report.ranks.size()); ++rank) {
    const auto& [doing, last, called] = record_of(report, rank);
    if (doing != Activity::waiting) continue;
    if (collective && (last.group != collective->group || last.number != collective->number)) {
      continue;
    }
    ranks.push_back(rank);
  }
  return ranks;
}

// The ranks without which this one cannot go on.
std::vector<int> awaited_by(const HangReport& report, int rank) {
  const RankRecord& record = record_of(report, rank);
  if (record.doing != Activity::waiting) return {};
  if (is_message(record.last)) return {record.last.peer};
  const auto group = static_cast<std::size_t>(record.last.group);
  std::vector<int> missing;
  for (const int member : report.groups[group]) {
    if (record_of(report, member).called[group] < record.last.number) missing.push_back(member);
  }
  return missing;
}

HangKind difference(const CallRecord& few, const CallRecord& most) {
  if (few.kind != most.kind) return HangKind::wrong_call;
  return few.peer != most.peer ? HangKind::wrong_root : HangKind::wrong_count;
}

// Those who wait in the same collective as others, and called it otherwise than most of them.
Diagnosis disagreement(const HangReport& report) {
  Diagnosis found;
  for (const int rank : waiting_in(report)) {
    const CallRecord& call = record_of(report, rank).last;
    if (is_message(call)) continue;
    const auto together = waiting_in(report, &call);
    const auto differs = [&](int other) { return record_of(report, other).last != call; };
    const auto others = std::count_if(together.begin(), together.end(), differs);
    if (2 * others <= std::ssize(together)) continue;
    const int other = *std::find_if(together.begin(), together.end(), differs);
    found.kind = difference(call, record_of(report, other).last);
    found.culprits.push_back(rank);
    found.number = call.number;
  }
  return found;
}

// All ranks that do `what` while somebody waits for them.
Diagnosis awaited(const HangReport& report, HangKind kind, Activity what) {
  std::set<int> culprits;
  std::int64_t number = 0;
  for (const int rank : waiting_in(report)) {
    for (const int other : awaited_by(report, rank)) {
      if (record_of(report, other).doing != what) continue;
      culprits.insert(other);
      number = std::max(number, record_of(report, rank).last.number);
    }
  }
  return {kind, {culprits.begin(), culprits.end()}, number};
}

// Follows who waits for whom, depth first; the ranks of the first cycle, or none.
std::set<int> cycle_from(const HangReport& report, int rank, std::vector<int>& path,
                         std::set<int>& seen) {
  const auto at = std::find(path.begin(), path.end(), rank);
  if (at != path.end()) return {at, path.end()};
  if (!seen.insert(rank).second) return {};
  path.push_back(rank);
  for (const int next : awaited_by(report, rank)) {
    if (auto cycle = cycle_from(report, next, path, seen); !cycle.empty()) return cycle;
  }
  path.pop_back();
  return {};
}

// A cycle's kind, by the collectives in it: the one that most ranks wait in is what was meant.
Diagnosis reason_of(const HangReport& report, const std::set<int>& cycle) {
  const CallRecord* most = nullptr;
  std::set<int> groups;
  for (const int rank : cycle) {
    const CallRecord& call = record_of(report, rank).last;
    if (is_message(call)) continue;
    groups.insert(call.group);
    if (!most || waiting_in(report, &call).size() > waiting_in(report, most).size()) most = &call;
  }
  if (!most) return {HangKind::cycle, {cycle.begin(), cycle.end()}, 0};
  auto missing = awaited_by(report, waiting_in(report, most).front());
  std::sort(missing.begin(), missing.end());
  return {groups.size() > 1 ? HangKind::wrong_group : HangKind::left_out, missing, most->number};
}

}  // namespace
// <<< your code

Diagnosis diagnose(const HangReport& report) {
  // >>> your code
  if (auto found = disagreement(report); !found.culprits.empty()) return found;
  auto found = awaited(report, HangKind::early_exit, Activity::returned);
  if (!found.culprits.empty()) return found;
  std::set<int> seen;
  for (const int rank : waiting_in(report)) {
    std::vector<int> path;
    if (const auto cycle = cycle_from(report, rank, path, seen); !cycle.empty()) {
      return reason_of(report, cycle);
    }
  }
  return awaited(report, HangKind::slow, Activity::computing);
  // <<< your code
}

}  // namespace lockstep::comm
