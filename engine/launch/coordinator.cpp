#include "engine/launch/coordinator.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/text.hpp"

namespace lockstep::launch {

using Kind = Command::Kind;

std::optional<Command> Coordinator::stop_once() {
  if (std::exchange(stopping_, true)) return std::nullopt;
  return Command{Kind::stop, attempt_, 0, ""};
}

std::optional<Command> Coordinator::failed(std::size_t) { return stop_once(); }

std::optional<Command> Coordinator::interrupted(std::size_t node, const std::string& who) {
  if (fatal_.empty()) {
    fatal_ = text("interrupted by ", who);
    if (nodes_.size() > 1) fatal_ += text(" on node ", node);
    fatal_ += ": every rank was told to stop";
  }
  return stop_once();
}

std::optional<Command> Coordinator::lost(std::size_t node, const std::string& why) {
  if (fatal_.empty()) fatal_ = why;
  nodes_[node].lost = true;
  if (auto end = decide()) return end;  // it was the last that others waited for
  return stop_once();
}

std::optional<Command> Coordinator::ended(std::size_t node, std::vector<Failure> failures,
                                          int stopped) {
  nodes_[node].ended = true;
  stopped_ += stopped;
  failures_.insert(failures_.end(), failures.begin(), failures.end());
  return decide();
}

std::optional<Command> Coordinator::decide() {
  const auto is_done = [](const Node& node) { return node.ended || node.lost; };
  if (!std::ranges::all_of(nodes_, is_done)) return std::nullopt;
  if (failures_.empty() && fatal_.empty()) return Command{Kind::end, attempt_, 0, ""};

  const int world = std::accumulate(ranks_per_node_.begin(), ranks_per_node_.end(), 0);
  std::string report = fatal_;
  // Ranks fail because a launcher is lost or a person interrupts; then they are not the cause.
  if (fatal_.empty()) {
    failures_ = in_order(std::move(failures_));
    report = report_of(failures_, world, static_cast<int>(nodes_.size()), stopped_);
  }
  const int left = max_restarts_ - attempt_;
  const bool only_spares = std::ranges::all_of(failures_, &Failure::spare);
  const bool refused = fatal_.empty() && left > 0 && is_refusal(failures_);
  if (refused) {
    report += text("\nnothing is started again: exit code ", refusal_code,
                   " says that what was typed or read is wrong, and a restart has the same");
  }
  if (!fatal_.empty() || only_spares || refused || left == 0) {
    if (attempt_ > 0) report = text("attempt ", attempt_, " of ", max_restarts_, ": ", report);
    return Command{Kind::end, attempt_, 1, report};
  }
  report = text("attempt ", attempt_, " of ", max_restarts_, ": ", report, "\nstarting ",
                world == 1 ? "the rank" : text("all ", world, " ranks"), " again; ", left - 1,
                left == 2 ? " restart" : " restarts", " left after that");
  ++attempt_;
  stopping_ = false;
  failures_.clear();
  stopped_ = 0;
  for (Node& node : nodes_) node.ended = false;
  return Command{Kind::begin, attempt_, 0, report};
}

}  // namespace lockstep::launch
