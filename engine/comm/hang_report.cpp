#include "engine/comm/hang_report.hpp"

#include <array>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::comm {

namespace {

constexpr std::array call_names{"send",           "recv",       "broadcast",
                                "reduce",         "all_reduce", "all_gather",
                                "reduce_scatter", "all_to_all", "barrier"};
constexpr std::array kind_names{"wrong_call",  "wrong_root", "wrong_count", "early_exit",
                                "wrong_group", "left_out",   "cycle",       "slow"};

std::string list_of(const std::vector<int>& ranks) {
  std::string result = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) result += text(i == 0 ? "" : ", ", ranks[i]);
  return result;
}

std::string text_of(const CallRecord& call) {
  std::string result = call_names.at(static_cast<std::size_t>(call.kind));
  if (call.kind == CallKind::send) result += text(" to rank ", call.peer);
  if (call.kind == CallKind::recv) result += text(" from rank ", call.peer);
  if (!is_message(call)) result += text(" number ", call.number);
  if (!is_message(call) && call.peer >= 0) result += text(" with root ", call.peer);
  if (call.group > 0) result += text(" of group ", call.group);
  if (call.kind != CallKind::barrier) result += text(" (", call.count, " elements)");
  return result;
}

std::string text_of(const std::vector<int>& ranks, const RankRecord& record) {
  const bool one = ranks.size() == 1;
  std::string result = list_of(ranks) + " ";
  switch (record.doing) {
    case Activity::waiting:
      result += text(one ? "waits in " : "wait in ", text_of(record.last), ", having");
      break;
    case Activity::computing:
      result += text(one ? "computes" : "compute", ", having");
      break;
    case Activity::returned:
      result += text(one ? "has" : "have", " returned, having");
  }
  for (std::size_t group = 0; group < record.called.size(); ++group) {
    if (group > 0 && record.called[group] == 0) continue;
    result += text(group == 0 ? " called " : ", ", record.called[group],
                   group == 0 ? " collectives of the world" : text(" of group ", group));
  }
  return result;
}

}  // namespace

std::string name_of(HangKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

std::string text_of(const HangReport& report) {
  std::vector<std::pair<RankRecord, std::vector<int>>> alike;
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    std::vector<int>* ranks = nullptr;
    for (auto& [record, its_ranks] : alike) {
      if (record == report.ranks[rank]) ranks = &its_ranks;
    }
    if (ranks == nullptr)
      ranks = &alike.emplace_back(report.ranks[rank], std::vector<int>{}).second;
    ranks->push_back(static_cast<int>(rank));
  }
  std::string result;
  for (const auto& [record, ranks] : alike) {
    result += text(result.empty() ? "" : "; ", text_of(ranks, record));
  }
  for (std::size_t group = 1; group < report.groups.size(); ++group) {
    result += text("; group ", group, " is ", list_of(report.groups[group]));
  }
  return result;
}

std::string text_of(const Diagnosis& diagnosis) {
  return text(name_of(diagnosis.kind), ", culprit ",
              diagnosis.culprits.empty() ? "nobody" : list_of(diagnosis.culprits), ", number ",
              diagnosis.number);
}

}  // namespace lockstep::comm
