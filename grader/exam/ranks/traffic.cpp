#include "grader/exam/ranks/traffic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {

double ring_bytes(std::int64_t bytes, int ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
}

namespace {

int ranks_of(const sim::CollectiveRecord& record) {
  return static_cast<int>(record.entered_s.size());
}

// The bytes that the busiest rank sends in a native collective.
double share_of(const sim::CollectiveRecord& record) {
  const auto& traits = sim::traits_of(record.kind);
  const int ranks = ranks_of(record);
  const auto bytes = static_cast<double>(record.bytes);
  if (traits.givers == sim::Ranks::none || ranks == 1) return 0;
  if (traits.given == sim::Parts::each) return (ranks - 1) * bytes / ranks;
  if (traits.has_root()) return bytes;
  if (traits.taken == sim::Parts::each) return (ranks - 1) * bytes;
  return ring_bytes(record.bytes, ranks);
}

// How many ranks send that much.
int senders_of(const sim::CollectiveRecord& record) {
  const auto& traits = sim::traits_of(record.kind);
  if (!traits.has_root()) return ranks_of(record);
  return traits.given == sim::Parts::each ? 1 : ranks_of(record) - 1;
}

}  // namespace

double busiest_rank_bytes(const sim::Counters& counters) {
  double bytes = 0;
  for (const auto& rank : counters.ranks) {
    bytes = std::max(bytes, static_cast<double>(rank.bytes_sent));
  }
  for (const auto& record : counters.collectives) bytes += share_of(record);
  return bytes;
}

double total_bytes(const sim::Counters& counters) {
  double bytes = 0;
  for (const auto& rank : counters.ranks) bytes += static_cast<double>(rank.bytes_sent);
  for (const auto& record : counters.collectives) bytes += senders_of(record) * share_of(record);
  return bytes;
}

std::string whole_bytes(double bytes) { return number(std::round(bytes)); }

Failure wasteful(std::string cause, double sent, double allowed, const std::string& by,
                 std::string message) {
  Failure failure;
  failure.verdict = Verdict::efficiency;
  failure.cause = std::move(cause);
  failure.message = std::move(message);
  failure.counters = {{"bytes_sent", sent}, {"bytes_allowed", allowed}};
  failure.expected = text(whole_bytes(allowed), " bytes ", by);
  failure.seen = text(whole_bytes(sent), " bytes ", by);
  return failure;
}

void check_operations(CaseRunner& runner, const Played& played, const Operations& most) {
  std::map<sim::Collective, std::int64_t> of_kind;
  for (const auto& record : played.counters.collectives) ++of_kind[record.kind];
  const std::int64_t barriers = of_kind[sim::Collective::barrier];
  const std::int64_t halves =
      std::min(of_kind[sim::Collective::reduce_scatter], of_kind[sim::Collective::all_gather]);
  const std::int64_t collectives = std::ssize(played.counters.collectives) - barriers - halves;
  Failure failure;
  failure.verdict = Verdict::efficiency;
  if (barriers > most.barriers) {
    failure.cause = "needless_barriers";
    failure.counters = {{"barriers", static_cast<double>(barriers)}};
    failure.expected = most.barriers == 0 ? "no barrier" : text("at most ", most.barriers);
    failure.seen = text(barriers, barriers == 1 ? " barrier" : " barriers");
    failure.message =
        text("the result is right, but the part uses ", failure.seen, " and needs ",
             most.barriers == 0 ? std::string("none") : text("at most ", most.barriers),
             "; at a barrier all ranks wait for the slowest, and no data moves. Collectives "
             "already wait for the data that they need");
    runner.fail(played, std::move(failure));
  }
  if (collectives <= most.collectives) return;
  failure.cause = "too_many_collectives";
  failure.counters = {{"collectives", static_cast<double>(collectives)}};
  failure.expected = text("at most ", counted(most.collectives, "collective"));
  failure.seen = counted(collectives, "collective");
  failure.message =
      text("the result is right, but the group ran ", failure.seen, " where ", most.allowed,
           " is enough; each collective costs a latency, however few bytes it moves");
  runner.fail(played, std::move(failure));
}

void check_messages_only(CaseRunner& runner, const Played& played, const std::string& wanted) {
  if (played.counters.collectives.empty()) return;
  const auto kind = sim::name_of(played.counters.collectives.front().kind);
  Failure failure;
  failure.cause = "native_collective";
  failure.seen = text("the group's own ", kind);
  failure.expected = wanted;
  failure.message = text("the part called the group's own ", kind,
                         "; build the collective from send and recv instead");
  runner.fail(played, failure);
}

std::optional<WrongLength> wrong_length(const Failure& found) {
  const std::size_t to = found.message.find(" to rank "),
                    expects = found.message.find("which expects ");
  if (found.verdict != Verdict::mismatch || expects == std::string::npos) return std::nullopt;
  WrongLength wrong;
  long long sent = 0, expected = 0;
  const bool read =
      std::sscanf(found.message.c_str(), "mismatch: rank %d sends %lld", &wrong.src, &sent) == 2 &&
      std::sscanf(found.message.c_str() + to, " to rank %d", &wrong.dst) == 1 &&
      std::sscanf(found.message.c_str() + expects, "which expects %lld", &expected) == 1;
  if (!read) return std::nullopt;
  wrong.sent = sent;
  wrong.expected = expected;
  return wrong;
}

}  // namespace lockstep::grader
