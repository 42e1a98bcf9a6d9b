#include "engine/sim/core/fault_state.hpp"

#include <algorithm>
#include <set>

#include "engine/base/random.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::string time_text(double seconds) {
  return seconds < 1e-3 ? text(seconds * 1e6, " µs")
         : seconds < 1  ? text(seconds * 1e3, " ms")
                        : text(seconds, " s");
}

}  // namespace

FaultState::FaultState(const Faults& faults, int ranks, const Network& network, std::uint64_t seed)
    : faults_(faults),
      network_(network),
      seed_(seed),
      dies_s_(index(ranks), never),
      died_s_(index(ranks)),
      calls_(index(ranks)),
      steps_(index(ranks), 1),
      slower_(index(ranks), 1),
      passages_(index(ranks)) {
  check_faults(faults, ranks, network);
  for (const auto& kill : faults.kills) {
    if (kill.at_call == 0)
      dies_s_[index(kill.rank)] = std::min(dies_s_[index(kill.rank)], kill.at_s);
  }
  for (const auto& slow : faults.slow) slower_[index(slow.rank)] *= slow.slower;
}

std::optional<std::string> FaultState::asks(int rank, double now_s, const std::string& call) {
  const std::int64_t calls = ++calls_[index(rank)];
  if (is_dead(rank, now_s)) return killed(rank);
  for (const auto& kill : faults_.kills) {
    const bool steps = faults_.count == Faults::Count::steps && !kill.counts_calls;
    if (kill.rank != rank || kill.at_call != (steps ? steps_[index(rank)] : calls)) continue;
    return text("rank ", rank, " was killed by a fault ",
                steps ? text("in its step ", kill.at_call, ", at its ")
                      : text("at its call number ", calls, ", "),
                call);
  }
  return std::nullopt;
}

std::string FaultState::killed(int rank) const {
  return text("rank ", rank, " was killed by a fault at ", time_text(dies_s(rank)));
}

bool FaultState::joins(const Faults::BadLink& link, int a, int b) const {
  if (link.ends == Faults::Ends::nodes) {
    a = network_.node_of(a);
    b = network_.node_of(b);
  }
  return (a == link.a && b == link.b) || (a == link.b && b == link.a);
}

bool FaultState::is_among(const Faults::BadLink& link, const std::vector<int>& members) const {
  bool a = false, b = false;
  for (const int rank : members) {
    const int end = link.ends == Faults::Ends::nodes ? network_.node_of(rank) : rank;
    a = a || end == link.a;
    b = b || end == link.b;
  }
  return a && b;
}

LinkChange FaultState::change(int src, int dst) {
  LinkChange change;
  for (const auto& link : faults_.links) {
    if (joins(link, src, dst)) change.slower *= link.slower;
  }
  if (faults_.jitter > 0) {
    const std::uint64_t drawn = ++passages_[index(src)];
    const std::uint64_t stream = seed_ * 0x9e3779b97f4a7c15ULL + index(src);
    change.latency = 1 + faults_.jitter * random_uniform(stream, drawn);
  }
  return change;
}

double FaultState::slowness_among(const std::vector<int>& members) const {
  double worst = 1;
  for (const auto& link : faults_.links) {
    if (is_among(link, members)) worst = std::max(worst, link.slower);
  }
  return worst;
}

std::string FaultState::cut_text(const Faults::BadLink& link) {
  const char* end = link.ends == Faults::Ends::nodes ? "node " : "rank ";
  return text("the link between ", end, link.a, " and ", end, link.b, " is cut by a fault");
}

std::optional<std::string> FaultState::cut(int src, int dst) const {
  for (const auto& link : faults_.links) {
    if (link.slower == never && joins(link, src, dst)) return cut_text(link);
  }
  return std::nullopt;
}

std::optional<std::string> FaultState::cut_among(const std::vector<int>& members) const {
  for (const auto& link : faults_.links) {
    if (link.slower == never && is_among(link, members)) return cut_text(link);
  }
  return std::nullopt;
}

void FaultState::doom(const OperationPtr& operation, const std::string& why, double at_s) {
  doomed_[&*operation] = {operation, why, at_s};
}

std::optional<FaultState::Doomed> FaultState::take_doomed(const OperationPtr& operation) {
  const auto at = doomed_.find(&*operation);
  if (at == doomed_.end()) return std::nullopt;
  Doomed doomed = std::move(at->second);
  doomed_.erase(at);
  return doomed;
}

void FaultState::strike(FindingKind kind, const std::string& what, std::vector<int> ranks,
                        const std::string& core) {
  if (struck_) return;
  struck_ = Finding{kind, what, std::move(ranks), {}};
  struck_core_ = core;
}

Finding FaultState::explained(Finding finding) const {
  if (!struck_) return finding;
  Finding whole = *struck_;
  whole.where = finding.where;
  // An error that a rank threw because of the fault says no more than the fault.
  const bool says_it = finding.message.find(struck_core_) != std::string::npos;
  whole.message += says_it && !finding.ranks.empty()
                       ? text(", and rank ", finding.ranks.front(), " could not continue")
                       : "; then " + finding.message;
  return whole;
}

}  // namespace lockstep::sim
