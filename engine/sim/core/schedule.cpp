// The schedule: in which order requests are looked at, which strand goes on, and how time passes.
#include <algorithm>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

void Core::State::take_asked() {
  std::vector<Ready> asked;
  for (const Actor& actor : asked_) {
    const auto& strands = strands_[static_cast<std::size_t>(actor.rank)];
    const auto strand = strands.find(actor.strand);  // it may be woken, or lost
    if (strand != strands.end() && strand->second.asked) {
      asked.push_back({strand->second.clock_s, actor});
    }
  }
  asked_.clear();
  std::sort(asked.begin(), asked.end(),
            [&](const Ready& a, const Ready& b) { return earlier(a, b); });
  for (const auto& [clock, actor] : asked) {
    const auto request = std::exchange(strand_of(actor).asked, nullptr);
    if (!request) continue;
    // Counted in this order, so that the rank that exceeds a limit does not depend on the host.
    if (request->op != Op::pause) count(actor, *request);
    take(actor, std::move(*request));
  }
}

// Chooses who goes on, once those are told that wait for what is over: a block of ranks, by the
// seed's order; or, with services, the earliest alone, after services that were asked at an earlier
// time are served.
void Core::State::choose_next() {
  bool moved = true;
  while (moved && ready_.empty()) {
    moved = transfer_matches();
    if (any_lost_) fail_waiters_of_lost();
  }
  if (!one_at_a_time_) return ready_.take(next_);
  next_.clear();
  run_services();
  const auto first =
      std::min_element(ready_by_time_.begin(), ready_by_time_.end(),
                       [&](const Ready& a, const Ready& b) { return earlier(a, b); });
  if (first == ready_by_time_.end()) return;
  next_.push_back(first->actor);
  ready_by_time_.erase(first);
}

bool Core::pass_time(Actor actor, Op op, double seconds) {
  if (state_->one_at_a_time_) return false;
  Request request;
  request.op = op;
  request.seconds = seconds;
  state_->pass_time(state_->running_strand(actor, "lets time pass"), actor, std::move(request));
  return true;
}

void Core::State::pass_time(StrandState& strand, Actor actor, Request request) {
  if (request.op == Op::compute) {
    request.seconds *= slowness_of(actor.rank);
    if (recorder_) recorder_->computed(actor, request, strand.clock_s);
    strand.clock_s += request.seconds;
  } else if (request.seconds > strand.clock_s) {
    if (recorder_) recorder_->waited(actor, request, strand.clock_s, request.seconds);
    strand.clock_s = request.seconds;
  }
}

}  // namespace lockstep::sim
