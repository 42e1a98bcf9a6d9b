#include "grader/parts/03_collectives/read_the_hang/rules.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::grader::read_the_hang {

using comm::Activity;
using comm::CallKind;
using comm::CallRecord;
using comm::Diagnosis;
using comm::HangKind;
using comm::HangReport;

namespace {

// The state of a run: for each rank its place in its program, and what its report says.
struct Run {
  explicit Run(const HangCase& hang) : hang_(hang), at_(hang.programs.size()) {
    report.groups = hang.groups;
    report.ranks.resize(hang.programs.size());
    for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
      report.ranks[rank].called.resize(hang.groups.size());
      begin(rank);
    }
  }

  // Ends the call in which `rank` waits, for all ranks that wait in it.
  bool go_on(std::size_t rank) {
    if (report.ranks[rank].doing != Activity::waiting) return false;
    const CallRecord call = report.ranks[rank].last;
    const std::vector<int> all = comm::is_message(call)
                                     ? std::vector<int>{static_cast<int>(rank), call.peer}
                                     : hang_.groups[static_cast<std::size_t>(call.group)];
    for (const int other : all) {
      if (!meets(static_cast<int>(rank), call, other)) return false;
    }
    for (const int other : all) begin(static_cast<std::size_t>(other));
    return true;
  }

  HangReport report;

 private:
  bool meets(int rank, const CallRecord& call, int other) const {
    const auto& [doing, last, called] = report.ranks[static_cast<std::size_t>(other)];
    if (doing != Activity::waiting) return false;
    if (other == rank || !comm::is_message(call)) return last == call;
    const bool sends = call.kind == CallKind::send;
    return last.kind == (sends ? CallKind::recv : CallKind::send) && last.peer == rank;
  }

  void begin(std::size_t rank) {
    auto& [doing, last, called] = report.ranks[rank];
    const HangProgram& program = hang_.programs[rank];
    if (at_[rank] == program.calls.size()) {
      doing = program.then;
      return;
    }
    doing = Activity::waiting;
    last = program.calls[at_[rank]++];
    if (last.kind == CallKind::send || last.kind == CallKind::recv) return;
    last.number = ++called[static_cast<std::size_t>(last.group)];
  }

  const HangCase& hang_;
  std::vector<std::size_t> at_;
};

bool holds(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::string words_of(const std::vector<int>& ranks) {
  std::string result = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) result += text(i == 0 ? "" : ", ", ranks[i]);
  return result;
}

std::string about_kind(const HangReport& report, const Diagnosis& right) {
  const std::string who = words_of(right.culprits);
  switch (right.kind) {
    case HangKind::wrong_call:
    case HangKind::wrong_root:
    case HangKind::wrong_count:
      return text("all members reached collective number ", right.number,
                  " of a group, but not all made the same call; compare the calls of those of its "
                  "members that wait in that number of this group");
    case HangKind::early_exit:
      return text("other ranks wait for ", who, "; a rank that has returned makes no more calls");
    case HangKind::wrong_group:
      return text(
          "ranks wait for each other in collectives of two groups; compare the groups of the "
          "calls, not only kind and number");
    case HangKind::left_out:
      return text("ranks wait in collective number ", right.number, " for ", who,
                  right.culprits.size() == 1 ? ", which waits" : ", one of which waits",
                  " in a message for one of them");
    case HangKind::cycle:
      return text("each of ", who, " waits in a message for another of them");
    case HangKind::slow:
      return text("all waiting ranks wait for ", who,
                  ", directly or through other ranks; a rank that computes may still arrive, so "
                  "nothing hangs");
  }
  return comm::text_of(report);
}

// The ranks without which one cannot go on.
std::vector<int> awaited_by(const HangReport& report, int rank) {
  const auto& [doing, last, called] = report.ranks[static_cast<std::size_t>(rank)];
  if (doing != Activity::waiting) return {};
  if (last.kind == CallKind::send || last.kind == CallKind::recv) return {last.peer};
  const auto group = static_cast<std::size_t>(last.group);
  std::vector<int> missing = report.groups[group];
  std::erase_if(missing, [&, number = last.number](int member) {
    return report.ranks[static_cast<std::size_t>(member)].called[group] >= number;
  });
  return missing;
}

// A culprit and another rank that wait for each other, where one of them waits for more ranks.
std::optional<std::string> unseen_pair(const HangReport& report, const Diagnosis& right) {
  for (const int culprit : right.culprits) {
    const auto mine = awaited_by(report, culprit);
    for (const int other : mine) {
      const auto theirs = awaited_by(report, other);
      if (!holds(theirs, culprit) || mine.size() + theirs.size() < 3) continue;
      const auto& [more, rank] =
          mine.size() > 1 ? std::pair(mine, culprit) : std::pair(theirs, other);
      return text("ranks ", culprit, " and ", other,
                  " wait for each other, so a rank that "
                  "computes cannot end it; rank ",
                  rank, " waits for ", words_of(more),
                  ": follow each of them, not the first alone");
    }
  }
  return std::nullopt;
}

// The members of the group in whose collective the culprits are missing, or nothing.
std::vector<int> group_of(const HangReport& report, const Diagnosis& right) {
  for (const auto& [doing, last, called] : report.ranks) {
    if (doing != Activity::waiting || last.number != right.number) continue;
    const auto group = static_cast<std::size_t>(last.group);
    const auto has_called = [&](int rank) {
      return report.ranks[static_cast<std::size_t>(rank)].called[group] >= right.number;
    };
    std::vector<int> missing = report.groups[group];
    std::erase_if(missing, has_called);
    if (missing == right.culprits) return report.groups[group];
  }
  return {};
}

// Why this rank is no culprit.
std::string why_not(const HangReport& report, const Diagnosis& right, int rank) {
  if (right.kind <= HangKind::wrong_count) {
    return text("rank ", rank, " is not one of the few ranks that differ in that collective");
  }
  if (right.kind == HangKind::wrong_group || right.kind == HangKind::left_out) {
    const std::vector<int> members = group_of(report, right);
    if (!members.empty() && !holds(members, rank)) {
      return text("rank ", rank, " is not in the group of collective number ", right.number,
                  ", so no rank waits for it there");
    }
  }
  const bool known = rank >= 0 && rank < static_cast<int>(report.ranks.size());
  if (!known || report.ranks[static_cast<std::size_t>(rank)].doing != Activity::waiting) {
    return text("no rank waits for rank ", rank,
                "; the members of a group are the ranks that it lists, and not 0, 1, 2, …");
  }
  return text("rank ", rank, " waits for others and did nothing wrong");
}

}  // namespace

HangReport report_of(const HangCase& hang) {
  Run run(hang);
  bool again = true;
  while (again) {
    again = false;
    for (std::size_t rank = 0; rank < hang.programs.size(); ++rank) {
      while (run.go_on(rank)) again = true;
    }
  }
  return run.report;
}

HangCase renumbered(const HangCase& hang, const std::vector<int>& numbers) {
  const auto number_of = [&](int rank) { return numbers[static_cast<std::size_t>(rank)]; };
  HangCase result = hang;
  for (auto& members : result.groups) {
    std::transform(members.begin(), members.end(), members.begin(), number_of);
    std::sort(members.begin(), members.end());
  }
  for (std::size_t rank = 0; rank < hang.programs.size(); ++rank) {
    HangProgram program = hang.programs[rank];
    for (CallRecord& call : program.calls) {
      if (call.peer >= 0) call.peer = number_of(call.peer);
    }
    result.programs[static_cast<std::size_t>(numbers[rank])] = program;
  }
  auto& culprits = result.right.culprits;
  std::transform(culprits.begin(), culprits.end(), culprits.begin(), number_of);
  std::sort(culprits.begin(), culprits.end());
  return result;
}

Cause likely_cause(const HangReport& report, const Diagnosis& seen, const Diagnosis& right) {
  if (seen.kind == HangKind::slow && right.kind != HangKind::slow) {
    if (auto found = unseen_pair(report, right)) return {"kind", *std::move(found)};
  }
  if (seen.kind != right.kind) return {"kind", about_kind(report, right)};
  if (seen.culprits != right.culprits) {
    if (!std::is_sorted(seen.culprits.begin(), seen.culprits.end())) {
      return {"not_ascending", "list the culprits in ascending order"};
    }
    for (const int rank : seen.culprits) {
      if (!holds(right.culprits, rank)) return {"culprit_too_many", why_not(report, right, rank)};
    }
    for (const int rank : right.culprits) {
      if (holds(seen.culprits, rank)) continue;
      return {"culprit_missed",
              text("rank ", rank, " is also a culprit; ", about_kind(report, right))};
    }
    return {"culprit_twice", "name each culprit once"};
  }
  if (right.kind == HangKind::cycle) {
    return {"number",
            "messages hold a cycle up, not a collective, so the number is 0, whichever ranks wait "
            "for it"};
  }
  if (right.number == 0)
    return {"number", "no rank waits for the culprits in a collective, so the number is 0"};
  return {"number", text("the collective in which other ranks wait for the culprits, or in which "
                         "they differ, is number ",
                         right.number, " of its group")};
}

}  // namespace lockstep::grader::read_the_hang
