// The knowledge that a rank can have of another one. Virtual time only orders events: who slept
// long enough comes later, and has heard of nothing.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/sim/core/core.hpp"
#include "grader/exam/ranks/members.hpp"

namespace lockstep::grader {

// By rank of the group: when it had heard of what member `of` did until `at_s`, by messages and by
// collectives of all members; infinity where it never has. A root alone learns from a reduce or a
// gather.
inline std::vector<double> heard_s(const sim::Counters& counters, const Members& members, int of,
                                   double at_s) {
  std::vector<double> heard(members.ranks.size(), std::numeric_limits<double>::infinity());
  heard[static_cast<std::size_t>(of)] = at_s;
  bool more = true;
  const auto hears = [&](std::size_t rank, double when) {
    if (heard[rank] <= when) return;
    heard[rank] = when;
    more = true;
  };
  while (std::exchange(more, false)) {
    for (const sim::MessageRecord& one : counters.messages) {
      if (!members.contain(one.src) || !members.contain(one.dst)) continue;
      const auto src = static_cast<std::size_t>(members.group_rank(one.src));
      if (heard[src] > one.sent_s) continue;
      hears(static_cast<std::size_t>(members.group_rank(one.dst)), one.arrived_s);
    }
    for (const sim::CollectiveRecord& one : counters.collectives) {
      using sim::Collective;
      const bool tells = one.kind != Collective::reduce && one.kind != Collective::gather;
      if (!tells || one.entered_s.size() != heard.size()) continue;
      bool told = false;
      for (std::size_t r = 0; r < heard.size(); ++r) told = told || heard[r] <= one.entered_s[r];
      for (std::size_t r = 0; told && r < heard.size(); ++r) hears(r, one.done_s);
    }
  }
  return heard;
}

}  // namespace lockstep::grader
