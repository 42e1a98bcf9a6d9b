// A rank that is gone: whoever waits for it is told why. And all of them gone at once.
#include <algorithm>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

void Core::lose(int rank, const std::string& why) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks(), "lose: there is no rank ", rank);
  if (!state_->lost_[static_cast<std::size_t>(rank)].empty()) return;
  state_->drop(rank, why.empty() ? text("rank ", rank, " is gone") : why);
  state_->found({FindingKind::rank_exited, gone(rank), {rank}, {}});
}

void Core::threw(int rank, const std::string& what) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks(), "threw: there is no rank ", rank);
  state_->threw_[static_cast<std::size_t>(rank)] = what;
}

void Core::give_up(int rank, const std::string& why) {
  const double now_s = state_->running_strand({rank, 0}, "gives up").clock_s;
  auto& counters = state_->counters_.ranks[static_cast<std::size_t>(rank)];
  counters.clock_s = std::max(counters.clock_s, now_s);
  state_->counters_.makespan_s = std::max(state_->counters_.makespan_s, counters.clock_s);
  if (state_->faults_) state_->faults_->has_died(rank, now_s);
  state_->drop(rank, why.empty() ? text("rank ", rank, " gave up") : why);
}

// Services are asked when every strand is blocked, so no rank that is dropped is running; and when
// all are dropped, nobody is left who waits for one.
void Core::State::end_world(const std::string& why) {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    auto& counters = counters_.ranks[static_cast<std::size_t>(rank)];
    for (const auto& [id, strand] : strands_[static_cast<std::size_t>(rank)]) {
      if (strand.live) counters.clock_s = std::max(counters.clock_s, strand.clock_s);
    }
    counters_.makespan_s = std::max(counters_.makespan_s, counters.clock_s);
    if (alive(rank)) drop(rank, why.empty() ? "the world ended" : why);
  }
}

void Core::State::drop(int rank, const std::string& why) {
  any_lost_ = true;
  lost_[static_cast<std::size_t>(rank)] = why;
  for (auto& [id, strand] : strands_[static_cast<std::size_t>(rank)]) {
    if (!strand.live) continue;
    if (!strand.running) --waiting_;
    const double clock_s = strand.clock_s;
    const int open_sends = strand.open_sends;
    strand = {};
    strand.clock_s = clock_s;
    strand.open_sends = open_sends;
    strand.live = strand.running = false;
    --live_;
  }
  std::erase_if(ready_by_time_, [&](const Ready& ready) { return ready.actor.rank == rank; });
  ready_.remove(rank);
}

void Core::State::fail_waiters_of_lost() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    for (auto& [id, strand] : strands_[static_cast<std::size_t>(rank)]) {
      if (!strand.waits_on || strand.waits_on->done) continue;
      if (faults_ && fail_doomed({rank, id}, strand)) continue;
      if (strand.waits_on->met) continue;  // it is transferred when its time has come
      const Message& request = strand.waits_on->request;
      const auto& members = groups_[request.group].members;
      const bool collective =
          request.op == Op::collective || request.op == Op::icollective || request.op == Op::split;
      for (std::size_t member = 0; member < members.size(); ++member) {
        const auto& why = lost_[static_cast<std::size_t>(members[member])];
        if (why.empty() || (!collective && std::cmp_not_equal(request.peer, member))) continue;
        strand.waits_on->done = true;  // nothing will match it any more
        strand.waits_on = nullptr;
        if (faults_) strand.clock_s = std::max(strand.clock_s, faults_->died_s(members[member]));
        answer_now({rank, id}, failed_reply(why));
        break;
      }
    }
  }
}

}  // namespace lockstep::sim
