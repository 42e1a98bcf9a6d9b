#include "engine/launch/coordinator.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"

namespace lockstep::launch {

using Kind = Command::Kind;
using Grace = Command::Grace;

Coordinator::Coordinator(const std::vector<int>& ranks_per_node, int max_restarts)
    : max_restarts_(max_restarts), phase_(Phase::running) {
  for (const int ranks : ranks_per_node) {
    const int launcher = static_cast<int>(launchers_.size());
    launchers_[launcher].self.ranks = ranks;
    members_.push_back(launcher);
  }
}

Coordinator::Coordinator(int max_restarts, const Membership& membership)
    : membership_(membership), max_restarts_(max_restarts) {}

Command Coordinator::begin() const { return {.kind = Kind::begin, .members = members_}; }

Coordinator& Coordinator::at(double now_s) {
  now_s_ = now_s;
  return *this;
}

std::optional<double> Coordinator::wakes_at() const {
  if (phase_ != Phase::gathering || launchers_.empty()) return std::nullopt;
  return enough_since_s_ ? *enough_since_s_ + membership_->last_call_s
                         : *short_since_s_ + membership_->timeout_s;
}

std::optional<Command> Coordinator::arrived(int launcher, const Newcomer& newcomer) {
  LOCKSTEP_CHECK(membership_ && launcher == static_cast<int>(launchers_.size()),
                 "launchers arrive where membership is not fixed, with numbers from 0 on; ",
                 launcher, " is not the next");
  launchers_[launcher].self = newcomer;
  if (phase_ == Phase::gathering) return gather();
  const bool ends = std::ranges::any_of(members_, [&](int one) { return launchers_.at(one).well; });
  // A run that is about to end well is let end.
  const bool has_place = std::ssize(members_) < membership_->nodes_max;
  if (phase_ == Phase::over || !has_place || (ends && phase_ == Phase::running)) {
    return std::nullopt;
  }
  note_change(text(newcomer.host, " has come, with ", counted(newcomer.ranks, "rank")));
  arrival_ = true;
  return stop_once(Grace::to_save);
}

std::optional<Command> Coordinator::departed(int launcher, const std::string& why) {
  Launcher& one = launchers_.at(launcher);
  one.gone = true;
  if (phase_ == Phase::over) return std::nullopt;
  if (!membership_) {
    if (fatal_.empty()) fatal_ = why;
  } else if (phase_ == Phase::gathering) {
    return gather();
  } else if (!node_of(launcher) || one.ended || one.leaves) {
    return decide();  // its ranks have ended; or it had none, or was known to leave
  } else {
    note_change(why);
    left_ = true;
  }
  if (auto next = decide()) return next;  // it was the last that others waited for
  return stop_once(Grace::of_failure);
}

std::optional<Command> Coordinator::failed(int) { return stop_once(Grace::of_failure); }

std::optional<Command> Coordinator::interrupted(int launcher, const std::string& who) {
  if (phase_ == Phase::over) return std::nullopt;
  if (membership_ && launcher != 0) {
    launchers_.at(launcher).leaves = true;
    if (phase_ == Phase::gathering) return gather();
    const auto node = node_of(launcher);
    if (!node || launchers_.at(launcher).ended) return std::nullopt;
    note_change(text("node ", *node, " (", launchers_.at(launcher).self.host,
                     ") was interrupted by ", who, " and leaves"));
    left_ = true;
    return stop_once(Grace::to_save);
  }
  if (fatal_.empty()) {
    fatal_ = text("interrupted by ", who);
    if (members_.size() > 1) fatal_ += text(" on node ", node_of(launcher).value_or(0));
    fatal_ += ": every rank was told to stop";
  }
  if (phase_ == Phase::gathering) return end(1, fatal_);
  return stop_once(membership_ ? Grace::to_save : Grace::of_failure);
}

std::optional<Command> Coordinator::ended(int launcher, const std::vector<Failure>& failures,
                                          int stopped) {
  if (phase_ == Phase::over || phase_ == Phase::gathering) return std::nullopt;
  launchers_.at(launcher).ended = true;
  launchers_.at(launcher).well = failures.empty();
  stopped_ += stopped;
  failures_.insert(failures_.end(), failures.begin(), failures.end());
  return decide();
}

std::optional<int> Coordinator::node_of(int launcher) const {
  const auto found = std::ranges::find(members_, launcher);
  if (found == members_.end()) return std::nullopt;
  return static_cast<int>(found - members_.begin());
}

int Coordinator::present() const {
  return static_cast<int>(std::ranges::count_if(
      launchers_, [](const auto& one) { return !one.second.gone && !one.second.leaves; }));
}

// The first stop, or one with less time after one with more.
std::optional<Command> Coordinator::stop_once(Grace grace) {
  if (phase_ == Phase::over || phase_ == Phase::gathering) return std::nullopt;
  if (phase_ == Phase::stopping && (grace_ == Grace::of_failure || grace == grace_)) {
    return std::nullopt;
  }
  phase_ = Phase::stopping;
  grace_ = grace;
  return Command{.kind = Kind::stop, .attempt = attempt_, .grace = grace};
}

// The next attempt, or the end, when the last member is done.
std::optional<Command> Coordinator::decide() {
  if (phase_ != Phase::running && phase_ != Phase::stopping) return std::nullopt;
  if (!std::ranges::all_of(members_, [&](int one) { return is_done(one); })) return std::nullopt;
  // Ranks agree on when they stop, so some may have saved and ended before their launcher is told.
  if (arrival_) std::erase_if(failures_, &Failure::saved);
  const bool only_spares = std::ranges::all_of(failures_, &Failure::spare);
  if (failures_.empty() && fatal_.empty() && !arrival_ && !left_) return end(0, "");

  const int world = ranks_of(members_);
  std::string report = fatal_;
  // Ranks fail because a launcher is lost or a person interrupts; then they are not the cause.
  if (fatal_.empty()) {
    failures_ = in_order(std::move(failures_));
    report = left_ || failures_.empty() || (arrival_ && only_spares)
                 ? changes_
                 : report_of(failures_, world, static_cast<int>(members_.size()), stopped_);
  }
  const int left = max_restarts_ - restarts_;
  const bool refused = fatal_.empty() && !left_ && is_refusal(failures_);
  const int needed =
      failures_.empty() ? 0 : std::ranges::max(failures_, {}, &Failure::ranks_needed).ranks_needed;
  if (membership_ && refused && needed > world) {
    ranks_needed_ = needed;
    return gather_or_wait(report);
  }
  if (refused && left > 0) {
    report += text("\nnothing is started again: exit code ", refusal_code,
                   " says that what was typed or read is wrong, and a restart has the same");
  }
  const bool done = only_spares && !arrival_ && !left_;
  const bool uses_one = left_ || !only_spares;
  const bool used_up = uses_one && left == 0;
  if (membership_ && fatal_.empty() && used_up) report += "\nno restart is left, so the run ends";
  if (!fatal_.empty() || done || refused || used_up) {
    return end(1, (attempt_ > 0 ? attempt_named() + ": " : "") + report);
  }
  if (uses_one) ++restarts_;
  if (membership_) return gather_or_wait(report);
  report = text(attempt_named(), ": ", report, "\nstarting ",
                world == 1 ? "the rank" : text("all ", world, " ranks"), " again; ",
                counted(left - 1, "restart"), " left after that");
  ++attempt_;
  told_ = report;
  return begin_round();
}

// Begins a round as soon as it can, if launchers come and go.
std::optional<Command> Coordinator::gather() {
  if (phase_ != Phase::gathering || launchers_.empty()) return std::nullopt;
  if (are_enough()) {
    short_since_s_.reset();
    if (!enough_since_s_) enough_since_s_ = changed_at_s_.value_or(now_s_);
    const bool whole = std::ssize(next_members()) == membership_->nodes_max;
    if (!whole && now_s_ < *enough_since_s_ + membership_->last_call_s) return std::nullopt;
    members_ = next_members();
    return begin_round();
  }
  enough_since_s_.reset();
  changed_at_s_.reset();
  if (!short_since_s_) short_since_s_ = now_s_;
  if (now_s_ < *short_since_s_ + membership_->timeout_s) return std::nullopt;
  return end(1, text(what_is_missing(), " did not come within ", membership_->timeout_s,
                     " s, so the run ends here; what it saved stays: to continue, start the same "
                     "command on more nodes"));
}

Command Coordinator::gather_or_wait(const std::string& why) {
  told_ = text(attempt_named(), ": ", why, "\n");
  // The members of a round that a failed rank ended are there as they were: no last call.
  if (!arrival_ && !left_) changed_at_s_ = now_s_ - membership_->last_call_s;
  ++attempt_;
  phase_ = Phase::gathering;
  enough_since_s_.reset();
  short_since_s_.reset();
  if (auto next = gather()) return *next;
  std::string report = std::exchange(told_, "");
  report += enough_since_s_
                ? text("round ", attempt_, " begins in ", membership_->last_call_s,
                       " s at the latest, or with ", counted(membership_->nodes_max, "node"))
                : text("waits for ", what_is_missing(), ", for ", membership_->timeout_s, " s");
  return {.kind = Kind::wait, .attempt = attempt_, .report = report};
}

Command Coordinator::begin_round() {
  phase_ = Phase::running;
  arrival_ = left_ = false;
  changes_.clear();
  failures_.clear();
  stopped_ = 0;
  changed_at_s_.reset();
  for (auto& [number, launcher] : launchers_) launcher.ended = launcher.well = false;
  std::string report = std::exchange(told_, "");
  if (membership_) {
    report += text("round ", attempt_, " begins on ", counted(std::ssize(members_), "node"),
                   ", with ", counted(ranks_of(members_), "rank"), "; ",
                   counted(max_restarts_ - restarts_, "restart"), " left");
  }
  return {.kind = Kind::begin,
          .attempt = attempt_,
          .report = report,
          .restarts = restarts_,
          .members = members_};
}

Command Coordinator::end(int code, std::string report) {
  phase_ = Phase::over;
  return {.kind = Kind::end, .attempt = attempt_, .code = code, .report = std::move(report)};
}

std::string Coordinator::attempt_named() const {
  return membership_ ? text("round ", attempt_) : text("attempt ", attempt_, " of ", max_restarts_);
}

// Says what a round lacks: "1 of 2 nodes", "2 of 4 ranks".
std::string Coordinator::what_is_missing() const {
  const auto there = static_cast<int>(next_members().size());
  const int nodes = membership_->nodes_min;
  if (there < nodes) return text(nodes - there, " of ", counted(nodes, "node"));
  return text(ranks_needed_ - ranks_of(next_members()), " of ", counted(ranks_needed_, "rank"));
}

void Coordinator::note_change(std::string why) {
  if (!changed_at_s_) changed_at_s_ = now_s_;
  changes_ += (changes_.empty() ? "" : "\n") + std::move(why);
}

// By node: node 0, then those that came first. A wish is granted if the number is free.
std::vector<int> Coordinator::next_members() const {
  std::vector<int> chosen;
  for (const auto& [number, launcher] : launchers_) {
    const bool fits = std::ssize(chosen) < membership_->nodes_max;
    if (!launcher.gone && !launcher.leaves && fits) chosen.push_back(number);
  }
  std::vector<int> by_node(chosen.size(), -1), others;
  for (const int one : chosen) {
    const int wish = one == 0 ? 0 : launchers_.at(one).self.wish.value_or(0);
    const bool granted = wish < std::ssize(chosen) && by_node[static_cast<std::size_t>(wish)] < 0;
    if (granted) {
      by_node[static_cast<std::size_t>(wish)] = one;
    } else {
      others.push_back(one);
    }
  }
  for (auto next = others.begin(); int& node : by_node) {
    if (node < 0) node = *next++;
  }
  return by_node;
}

bool Coordinator::are_enough() const {
  const std::vector<int> members = next_members();
  return std::ssize(members) >= membership_->nodes_min && ranks_of(members) >= ranks_needed_;
}

int Coordinator::ranks_of(const std::vector<int>& launchers) const {
  int ranks = 0;
  for (const int one : launchers) ranks += launchers_.at(one).self.ranks;
  return ranks;
}

bool Coordinator::is_done(int launcher) const {
  return launchers_.at(launcher).ended || launchers_.at(launcher).gone;
}

}  // namespace lockstep::launch
