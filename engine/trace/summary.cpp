#include "engine/trace/summary.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::trace {
namespace {

using Intervals = std::vector<std::pair<double, double>>;

// In order, and disjoint.
Intervals union_of(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals result;
  for (const auto& [start, end] : intervals) {
    if (!result.empty() && start <= result.back().second) {
      result.back().second = std::max(result.back().second, end);
    } else {
      result.emplace_back(start, end);
    }
  }
  return result;
}

double length_of(const Intervals& disjoint) {
  double length = 0;
  for (const auto& [start, end] : disjoint) length += end - start;
  return length;
}

// The time during which both unions hold.
double length_of_both(const Intervals& a, const Intervals& b) {
  double length = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double end = std::min(a[i].second, b[j].second);
    length += std::max(0.0, end - std::max(a[i].first, b[j].first));
    ++(a[i].second < b[j].second ? i : j);
  }
  return length;
}

}  // namespace

std::vector<RankSummary> summary_of(const Timeline& timeline) {
  const auto size = static_cast<std::size_t>(timeline.ranks);
  const auto place_of = [&](int rank) {
    LOCKSTEP_CHECK(rank >= 0 && rank < timeline.ranks, "the timeline '", timeline.title, "' has ",
                   timeline.ranks, " ranks, but also something of rank ", rank);
    return static_cast<std::size_t>(rank);
  };
  std::vector<RankSummary> ranks(size);
  std::vector<Intervals> compute(size), communication(size), waiting(size);
  for (const Span& span : timeline.spans) {
    const std::size_t rank = place_of(span.rank);
    if (span.lane == Lane::communication) ranks[rank].collective_bytes += span.bytes;
    auto& lane = span.lane == Lane::compute         ? compute[rank]
                 : span.lane == Lane::communication ? communication[rank]
                                                    : waiting[rank];
    lane.emplace_back(span.start_s, span.end_s);
  }
  for (const Message& message : timeline.messages) {
    const std::size_t src = place_of(message.src);
    const std::size_t dst = place_of(message.dst);
    communication[src].emplace_back(message.start_s, message.sent_s);
    communication[dst].emplace_back(message.start_s, message.arrived_s);
    ++ranks[src].messages_sent;
    ++ranks[dst].messages_received;
    ranks[src].bytes_sent += message.bytes;
    ranks[dst].bytes_received += message.bytes;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const Intervals computes = union_of(std::move(compute[i]));
    const Intervals communicates = union_of(std::move(communication[i]));
    ranks[i].rank = static_cast<int>(i);
    ranks[i].compute_s = length_of(computes);
    ranks[i].communication_s = length_of(communicates);
    ranks[i].exposed_s = ranks[i].communication_s - length_of_both(computes, communicates);
    ranks[i].waiting_s = length_of(union_of(std::move(waiting[i])));
  }
  return ranks;
}

double overlap_of(const std::vector<RankSummary>& ranks) {
  double exposed = 0, all = 0;
  for (const RankSummary& rank : ranks) {
    exposed += rank.exposed_s;
    all += rank.communication_s;
  }
  return all > 0 ? 1 - exposed / all : 0;
}

}  // namespace lockstep::trace
