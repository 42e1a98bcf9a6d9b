// The effects of faults: on a rank that asks when it is dead, or at its last call; on a message or
// native collective that would be over after the death of one of its ranks, or that needs a link
// which is cut. All of it follows from virtual times and the order of one rank's calls, never from
// the order in which ranks happen to run.
#include <algorithm>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

bool Core::State::dies_asking(Actor actor, const Request& request) {
  const std::string call = std::string(request.op == Op::collective || request.op == Op::icollective
                                           ? name_of(request.collective)
                                           : name_of(request.op)) +
                           and_place(request);
  const double now_s = strand_of(actor).clock_s;
  const auto why = faults_->asks(actor.rank, now_s, call);
  if (why) take_away(actor.rank, *why, std::min(now_s, faults_->dies_s(actor.rank)));
  return why.has_value();
}

bool Core::State::dies_asking(Actor actor, const Message& message) {
  return dies_asking(actor, request_of(message));
}

void Core::State::take_away(int rank, const std::string& why, double at_s) {
  faults_->has_died(rank, at_s);
  faults_->strike(FindingKind::rank_exited, why, {rank}, why);
  auto& counters = counters_.ranks[static_cast<std::size_t>(rank)];
  counters.clock_s = std::max(counters.clock_s, at_s);
  counters_.makespan_s = std::max(counters_.makespan_s, at_s);
  drop(rank, why);
}

void Core::State::strike_in_time(int rank) {
  const std::string why = faults_->killed(rank);
  faults_->strike(FindingKind::rank_exited, why, {rank}, why);
}

void Core::State::die_in_time(int rank) {
  take_away(rank, faults_->killed(rank), faults_->dies_s(rank));
}

// Nothing happens before the next death when nobody can go on: then that is what happens next.
void Core::State::strike_next() {
  while (!finding_) {
    std::erase_if(next_, [&](const Actor& actor) {
      if (!lost_[static_cast<std::size_t>(actor.rank)].empty()) return true;  // with another strand
      if (!faults_->is_dead(actor.rank, strand_of(actor).clock_s)) return false;
      die_in_time(actor.rank);
      return true;
    });
    if (!next_.empty() || live_ == 0) return;
    choose_next();
    if (!next_.empty()) continue;
    int first = -1;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      if (!alive(rank) || faults_->dies_s(rank) == Service::forever) continue;
      if (first < 0 || faults_->dies_s(rank) < faults_->dies_s(first)) first = rank;
    }
    if (first < 0) return;
    die_in_time(first);
    choose_next();
  }
}

bool Core::State::is_doomed(Operation& send, Operation& receive) {
  const auto cut = faults_->cut(send.owner.rank, receive.owner.rank);
  if (!cut) return false;
  any_lost_ = true;
  for (Operation* side : {&send, &receive}) {
    const auto& members = groups_[side->request.group].members;
    const std::string why =
        text(*cut, ", so rank ", side->owner.rank, "'s ", name_of(side->request.op),
             side == &send ? " to rank " : " from rank ",
             members[static_cast<std::size_t>(side->request.peer)], and_place(request_of(*side)),
             " cannot complete");
    faults_->strike(FindingKind::infrastructure, why, {side->owner.rank}, *cut);
    faults_->doom(OperationPtr(side), why, send.ready_s);
  }
  return true;
}

bool Core::State::is_doomed(Operation& send, Operation& receive, double sent_s, double arrived_s) {
  const int src = send.owner.rank, dst = receive.owner.rank;
  const bool src_dies = faults_->is_dead(src, sent_s), dst_dies = faults_->is_dead(dst, arrived_s);
  if (!src_dies && !dst_dies) return false;
  any_lost_ = true;
  strike_in_time(src_dies ? src : dst);
  if (!src_dies) {
    faults_->doom(OperationPtr(&send), faults_->killed(dst), faults_->dies_s(dst));
  }
  if (!dst_dies) {
    faults_->doom(OperationPtr(&receive), faults_->killed(src), faults_->dies_s(src));
  }
  return true;
}

bool Core::State::is_doomed(const Group& group, const Group::Slot& slot, double done_s) {
  std::string why;
  double at_s = 0;
  for (const OperationPtr& member : slot.by_member) at_s = std::max(at_s, member->posted_s);
  if (const auto cut = faults_->cut_among(group.members)) {
    const Request& first = request_of(*slot.by_member.front());
    why = text(*cut, ", so ", call_of(first), group_of(first, group), and_place(first),
               " cannot complete");
    faults_->strike(FindingKind::infrastructure, why, group.members, *cut);
  }
  for (const int rank : group.members) {
    if (!why.empty() || !faults_->is_dead(rank, done_s)) continue;
    why = faults_->killed(rank);
    strike_in_time(rank);
    at_s = faults_->dies_s(rank);
  }
  if (why.empty()) return false;
  any_lost_ = true;
  for (const OperationPtr& member : slot.by_member) {
    if (!faults_->is_dead(member->owner.rank, at_s)) faults_->doom(member, why, at_s);
  }
  return true;
}

bool Core::State::fail_doomed(Actor actor, StrandState& strand) {
  const auto doomed = faults_->take_doomed(strand.waits_on);
  if (!doomed) return false;
  strand.waits_on->done = true;
  strand.waits_on = nullptr;
  strand.clock_s = std::max(strand.clock_s, doomed->at_s);
  answer_now(actor, failed_reply(doomed->why));
  return true;
}

}  // namespace lockstep::sim
