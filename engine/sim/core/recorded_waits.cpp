// The core's notes for its recorder: whom an operation was for, and who waits when it is over.
#include <algorithm>

#include "engine/base/units.hpp"
#include "engine/sim/core/core_state.hpp"
#include "engine/sim/core/wait_graph.hpp"

namespace lockstep::sim {

namespace {

constexpr std::size_t waited_for_max = 32;  // of the ranks that a collective lacks

bool is_message(const Request& request) {
  return request.op == Op::send || request.op == Op::recv || request.op == Op::isend ||
         request.op == Op::irecv;
}

// The global rank at the other end of a message; -1 of anything else.
int peer_of(const Request& request, const std::vector<Group>& groups) {
  if (!is_message(request)) return -1;
  return groups[request.group].members[static_cast<std::size_t>(request.peer)];
}

// The members that have not entered the collective that `operation` is in.
std::vector<int> missing_of(const OperationPtr& operation, const Group& group) {
  const auto member = static_cast<std::size_t>(group.rank_of(operation->owner.rank));
  std::vector<int> missing;
  for (const auto& slot : group.open) {
    if (slot.by_member[member] != operation) continue;
    for (std::size_t i = 0; i < group.members.size() && missing.size() < waited_for_max; ++i) {
      if (!slot.by_member[i]) missing.push_back(group.members[i]);
    }
  }
  return missing;
}

std::string amount_of(const Request& request) {
  if (request.op == Op::join || request.op == Op::pause || request.op == Op::service) return {};
  if (!is_message(request)) return text(request.count, " ", name_of(request.dtype));
  return text(counted(bytes_of(request), "byte"),
              request.tag == 0 ? "" : text(", tag ", request.tag));
}

}  // namespace

void Core::State::record_wait(const Operation& operation, double start_s) {
  recorder_->waited(operation.waiter, operation, peer_of(request_of(operation), groups_), start_s,
                    operation.done_s);
}

trace::Waiting Core::State::waiting_of(Actor actor, const StrandState& strand) const {
  const Request& request = *blocking_request_of(strand);
  const int peer = peer_of(request, groups_);
  trace::Waiting waiting;
  waiting.rank = actor.rank;
  waiting.strand = actor.strand;
  waiting.who = text("rank ", actor.rank);
  if (actor.strand != 0) {
    waiting.who += strand.name.empty() ? text(", strand ", actor.strand) : ", " + strand.name;
  }
  waiting.operation = words_of(request, peer);
  waiting.details = amount_of(request);
  waiting.where = place_of(request);
  waiting.since_s = strand.clock_s;
  if (peer >= 0) {
    waiting.waits_for = {peer};
  } else if (strand.waits_on) {
    waiting.waits_for = missing_of(strand.waits_on, groups_[request.group]);
  }
  return waiting;
}

void Core::State::record_waiting(const Finding& finding) {
  std::vector<trace::Waiting> waiting;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    for (const auto& [id, strand] : strands_[static_cast<std::size_t>(rank)]) {
      const bool blocked = strand.live && blocking_request_of(strand) != nullptr &&
                           !(strand.waits_on && strand.waits_on->done);
      if (blocked) waiting.push_back(waiting_of({rank, id}, strand));
    }
  }
  recorder_->found(finding, std::move(waiting));
}

}  // namespace lockstep::sim
