// What is left when all ranks have returned: messages that nobody received, collectives that only
// some ranks started, operations that nobody waited for.
#include <algorithm>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

std::vector<OperationPtr> Core::State::unreceived_sends() const {
  std::vector<OperationPtr> unreceived;
  for (const auto& [key, channel] : channels_.all()) {
    const auto waiting = channel.sends.waiting();
    unreceived.insert(unreceived.end(), waiting.begin(), waiting.end());
  }
  std::sort(unreceived.begin(), unreceived.end(), [](const OperationPtr& a, const OperationPtr& b) {
    return std::tuple(a->owner.rank, a->order) < std::tuple(b->owner.rank, b->order);
  });
  return unreceived;
}

void Core::State::check_end() {
  if (any_lost_) return;  // what a fault left undone is no mistake of the program
  const auto unreceived = unreceived_sends();
  if (!unreceived.empty()) {
    const Operation& send = *unreceived.front();
    const Request& request = send.request;
    const int dst = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
    std::string message =
        text("undelivered: rank ", send.owner.rank, " sent ", bytes_of(request), " bytes to rank ",
             dst, " with tag ", request.tag, group_of(request, groups_[request.group]),
             and_place(request), ", and rank ", dst, " returned without receiving them");
    if (unreceived.size() > 1) message += text("; ", unreceived.size(), " messages in all");
    return found({Verdict::undelivered, message, {send.owner.rank, dst}, place_of(request)});
  }
  for (const Group& group : groups_) {
    for (const auto& slot : group.open) {
      std::vector<int> entered, missing;
      OperationPtr one;
      for (std::size_t i = 0; i < slot.by_member.size(); ++i) {
        (slot.by_member[i] ? entered : missing).push_back(group.members[i]);
        if (slot.by_member[i] && !one) one = slot.by_member[i];
      }
      return found({Verdict::mismatch,
                    text("mismatch: ", list_of(entered), " started ", call_of(one->request),
                         group_of(one->request, group), and_place(one->request), ", and ",
                         list_of(missing), " returned without it"),
                    entered, place_of(one->request)});
    }
  }
  OperationPtr unwaited;  // of the lowest rank the oldest
  for (const auto& handles : handles_) {
    for (const OperationPtr& operation : handles.places()) {
      if (operation && (!unwaited || operation->order < unwaited->order)) unwaited = operation;
    }
    if (unwaited) break;
  }
  if (!unwaited) return;
  const Request& request = unwaited->request;
  const std::string what(request.op == Op::icollective ? name_of(request.collective)
                                                       : name_of(request.op));
  found({Verdict::in_flight,
         text("in flight: rank ", unwaited->owner.rank, " never waited for its ", what,
              and_place(request), "; until wait() returns the buffer belongs to the operation",
              request.op == Op::irecv ? ", and nothing has arrived in it" : ""),
         {unwaited->owner.rank},
         place_of(request)});
}

}  // namespace lockstep::sim
