// Finds what is left when all ranks have returned: messages that nobody received, collectives that
// only some ranks started, operations that nobody waited for.
#include <algorithm>

#include "engine/base/units.hpp"
#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

std::vector<const Operation*> Core::State::unmet(Side side) const {
  std::vector<const Operation*> waiting;
  channels_.each_waiting([&](const Operation& one) {
    const bool sends = one.request.op == Op::send || one.request.op == Op::isend;
    if (sends == (side == Side::send)) waiting.push_back(&one);
  });
  std::sort(waiting.begin(), waiting.end(), [](const Operation* a, const Operation* b) {
    return std::tuple(a->owner.rank, a->order) < std::tuple(b->owner.rank, b->order);
  });
  return waiting;
}

void Core::State::check_end() {
  if (any_lost_) return;  // what a fault left undone is no mistake of the program
  const auto unreceived = unmet(Side::send);
  if (!unreceived.empty()) {
    const Operation& send = *unreceived.front();
    const Request& request = request_of(send);
    const int dst = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
    std::string message =
        text("undelivered: rank ", send.owner.rank, " sent ", counted(bytes_of(request), "byte"),
             " to rank ", dst, " with tag ", request.tag, group_of(request, groups_[request.group]),
             and_place(request), ", but rank ", dst, " returned without receiving them");
    if (unreceived.size() > 1) message += text("; ", unreceived.size(), " messages in all");
    return found({FindingKind::undelivered, message, {send.owner.rank, dst}, place_of(request)});
  }
  for (const Group& group : groups_) {
    for (const auto& slot : group.open) {
      std::vector<int> entered, missing;
      const Operation* one = nullptr;
      for (std::size_t i = 0; i < slot.by_member.size(); ++i) {
        (slot.by_member[i] ? entered : missing).push_back(group.members[i]);
        if (slot.by_member[i] && one == nullptr) one = slot.by_member[i].get();
      }
      const Request& request = request_of(*one);
      return found({FindingKind::mismatch,
                    text("mismatch: ", list_of(entered), " started ", call_of(request),
                         group_of(request, group), and_place(request), ", but ", list_of(missing),
                         " returned without it"),
                    entered, place_of(request)});
    }
  }
  const Operation* unwaited = nullptr;  // of the lowest rank the oldest
  pool_.each_open([&](const Operation& operation) {
    const auto key = [](const Operation& o) { return std::pair(o.owner.rank, o.order); };
    if (unwaited == nullptr || key(operation) < key(*unwaited)) unwaited = &operation;
  });
  if (unwaited == nullptr) return;
  const Request& request = request_of(*unwaited);
  const std::string what(request.op == Op::icollective ? name_of(request.collective)
                                                       : name_of(request.op));
  found({FindingKind::in_flight,
         text("in flight: rank ", unwaited->owner.rank, " never waited for its ", what,
              and_place(request), "; until wait() returns, the buffer belongs to the operation",
              request.op == Op::irecv ? ", and nothing has arrived in it" : ""),
         {unwaited->owner.rank},
         place_of(request),
         {},
         {found_call(*unwaited)}});
}

}  // namespace lockstep::sim
