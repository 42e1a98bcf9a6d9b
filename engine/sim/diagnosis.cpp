// Explanations. The core has found that nothing can go on, or that something is left at the end;
// here the wait-for graph is read and the reason is put into a sentence.
//
// A node of the graph is a live strand, each of which is blocked. It has an edge to every rank that
// could let it go on: the other side of a message, the members that have not entered a collective,
// the strand it joins, and from a strand that pauses to all others of its rank. The search prefers,
// in this order: collectives that disagree (mismatch), a cycle (deadlock), a chain that ends at a
// rank which has already returned, or at a service.
#include <algorithm>
#include <set>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

bool is_collective(const Request& request) {
  return request.op == Op::collective || request.op == Op::icollective || request.op == Op::split;
}

// "12 bytes, tag 2, work/ring.cpp:21"
std::string details_of(const Request& request) {
  std::string result = text(bytes_of(request), " bytes");
  if (request.tag != 0) result += text(", tag ", request.tag);
  if (const auto place = place_of(request); !place.empty()) result += ", " + place;
  return result;
}

// "strand 'loader 0'"; without a name "strand 3".
std::string name_of_strand(int number, const Strand& strand) {
  return strand.name.empty() ? text("strand ", number) : text("strand '", strand.name, "'");
}

// The wait-for graph over blocked strands.
struct Graph {
  struct Node {
    Actor actor;
    std::string who;    // "rank 2", "rank 2 (strand 'loader 0')"
    std::string doing;  // "waits in recv from rank 3 (12 bytes, work/ring.cpp:21)"
    std::string where;
    Op op = Op::wait;  // what is waited for; of a message or collective, or service, join
    int tag = 0;
    std::uint32_t group = 0;
    std::vector<int> waits_for;  // ranks
    std::optional<int> joins;    // a strand of the same rank
    bool pauses = false;         // until any other strand of the same rank wakes it
  };
  std::vector<Node> nodes;

  std::vector<std::size_t> edges(const Node& from) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Actor& to = nodes[i].actor;
      const bool joined = from.joins && to == Actor{from.actor.rank, *from.joins};
      const bool wakes = from.pauses && to != from.actor && to.rank == from.actor.rank;
      const bool asked =
          std::find(from.waits_for.begin(), from.waits_for.end(), to.rank) != from.waits_for.end();
      if (joined || wakes || asked) result.push_back(i);
    }
    return result;
  }

  // Node numbers of a cycle in order, or nothing. Depth-first from the lowest rank.
  std::vector<std::size_t> cycle() const {
    std::vector<std::size_t> path;
    std::vector<int> state(nodes.size());  // 0 unseen, 1 on the path, 2 done
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (state[i] == 0 && visit(i, path, state)) return path;
    }
    return {};
  }

 private:
  bool visit(std::size_t at, std::vector<std::size_t>& path, std::vector<int>& state) const {
    state[at] = 1;
    path.push_back(at);
    for (const std::size_t next : edges(nodes[at])) {
      if (state[next] == 1) {
        path.erase(path.begin(), std::find(path.begin(), path.end(), next));
        std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
        return true;
      }
      if (state[next] == 0 && visit(next, path, state)) return true;
    }
    state[at] = 2;
    path.pop_back();
    return false;
  }
};

Graph::Node node_of(Actor actor, const Request& request) {
  Graph::Node node;
  node.actor = actor;
  node.where = place_of(request);
  node.op = request.op;
  node.tag = request.tag;
  node.group = request.group;
  return node;
}

Graph::Node message_node(Actor actor, const Operation& operation, int peer) {
  const Request& request = operation.request;
  const bool to = request.op == Op::send || request.op == Op::isend;
  const bool blocking = request.op == Op::send || request.op == Op::recv;
  Graph::Node node = node_of(actor, request);
  node.doing = text(blocking ? "waits in " : "waits for its ", name_of(request.op),
                    to ? " to rank " : " from rank ", peer, group_of(request), " (",
                    details_of(request), ")");
  node.waits_for = {peer};
  return node;
}

Graph::Node collective_node(Actor actor, const Operation& operation,
                            const std::vector<int>& missing) {
  const Request& request = operation.request;
  Graph::Node node = node_of(actor, request);
  node.doing = text("waits in ", call_of(request), group_of(request), " for ", list_of(missing),
                    and_place(request));
  node.waits_for = missing;
  return node;
}

Graph::Node local_node(Actor actor, const Request& request, const std::map<int, Strand>& strands) {
  Graph::Node node = node_of(actor, request);
  if (request.op == Op::pause) {
    node.pauses = true;
    node.doing = text("waits in a monitor to be notified", and_place(request));
  } else if (request.op == Op::join) {
    node.joins = static_cast<int>(request.handle);
    node.doing = text("waits for its ", name_of_strand(*node.joins, strands.at(*node.joins)),
                      " to end", and_place(request));
  } else {
    node.doing = text("waits for the service '", request.name, "'", and_place(request));
  }
  return node;
}

// Why a cycle of this kind comes about, where one kind of call fills it.
std::string hint_of(const Graph& graph, const std::vector<std::size_t>& cycle,
                    const std::string& unreceived) {
  const auto all = [&](Op op) {
    return std::all_of(cycle.begin(), cycle.end(),
                       [&](std::size_t i) { return graph.nodes[i].op == op; });
  };
  const auto any = [&](Op op) {
    return std::any_of(cycle.begin(), cycle.end(),
                       [&](std::size_t i) { return graph.nodes[i].op == op; });
  };
  if (any(Op::pause)) {
    return "; what a strand waits for in a monitor must be made true by another one, which then "
           "calls notify_all()";
  }
  if (all(Op::send)) {
    return "; all of them send, and a send returns only when its receive is posted: one must "
           "receive first, or use isend";
  }
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Graph::Node& from = graph.nodes[cycle[i]];
    const Graph::Node& to = graph.nodes[cycle[(i + 1) % cycle.size()]];
    const bool sends = from.op == Op::send || from.op == Op::isend;
    const bool receives = to.op == Op::recv || to.op == Op::irecv;
    if (!sends || !receives || to.waits_for != std::vector<int>{from.actor.rank}) continue;
    return text("; ", name_of(from.op), " and ", name_of(to.op), " of ranks ", from.actor.rank,
                " and ", to.actor.rank, " do not meet: their ",
                from.tag != to.tag ? "tags" : "groups", " differ");
  }
  if (!all(Op::recv)) return {};
  if (unreceived.empty()) return "; all of them receive, and nobody has sent";
  return "; meanwhile nobody receives " + unreceived;
}

}  // namespace

void Core::State::diagnose_stuck() {
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.open.size(); ++i) {
      Finding finding = mismatch_of(group, group.open[i], group.completed + i + 1);
      if (!finding.message.empty()) return found(std::move(finding));
    }
  }

  // Members that have not entered the collective that `operation` is in.
  const auto missing_of = [&](const OperationPtr& operation) {
    const Group& group = groups_[operation->request.group];
    std::vector<int> missing;
    for (const auto& slot : group.open) {
      if (std::find(slot.by_member.begin(), slot.by_member.end(), operation) ==
          slot.by_member.end()) {
        continue;
      }
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        if (!slot.by_member[i]) missing.push_back(group.members[i]);
      }
    }
    return missing;
  };
  Graph graph;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const auto& strands = strands_[static_cast<std::size_t>(rank)];
    for (const auto& [id, strand] : strands) {
      if (!strand.live) continue;
      const Actor actor{rank, id};
      if (strand.serving) {
        graph.nodes.push_back(local_node(actor, *strand.serving, strands));
      } else if (strand.joining || strand.pausing) {
        graph.nodes.push_back(
            local_node(actor, strand.joining ? *strand.joining : *strand.pausing, strands));
      } else if (strand.waits_on && is_collective(strand.waits_on->request)) {
        graph.nodes.push_back(
            collective_node(actor, *strand.waits_on, missing_of(strand.waits_on)));
      } else if (strand.waits_on) {
        const Request& request = strand.waits_on->request;
        const auto& members = groups_[request.group].members;
        graph.nodes.push_back(
            message_node(actor, *strand.waits_on, members[static_cast<std::size_t>(request.peer)]));
      } else {
        continue;
      }
      graph.nodes.back().who =
          text("rank ", rank, id == 0 ? "" : text(" (", name_of_strand(id, strand), ")"));
    }
  }

  std::string unreceived;
  if (const auto sends = unreceived_sends(); !sends.empty()) {
    const Request& send = sends.front()->request;
    const int dst = groups_[send.group].members[static_cast<std::size_t>(send.peer)];
    unreceived = text("rank ", sends.front()->owner.rank, "'s ", name_of(send.op), " to rank ", dst,
                      group_of(send), " (", details_of(send), ")");
  }
  Finding finding{Verdict::deadlock, {}, {}, {}};
  if (const auto cycle = graph.cycle(); !cycle.empty()) {
    for (const std::size_t i : cycle) {
      const Graph::Node& node = graph.nodes[i];
      finding.message += text(i == cycle.front() ? "deadlock: " : ", ", node.who, " ", node.doing);
      finding.ranks.push_back(node.actor.rank);
    }
    finding.where = graph.nodes[cycle.front()].where;
    finding.message += ": nobody can go first" + hint_of(graph, cycle, unreceived);
    return found(std::move(finding));
  }
  // Without a cycle every chain ends: at a rank that has returned, or at a service.
  for (const Graph::Node& node : graph.nodes) {
    if (!graph.edges(node).empty()) continue;
    finding.message = text("deadlock: ", node.who, " ", node.doing);
    finding.ranks = {node.actor.rank};
    finding.where = node.where;
    if (node.pauses) {
      finding.message +=
          ", and all other strands of this rank have ended: did an exception end one?";
    } else if (node.op == Op::service) {
      finding.message += ", and nothing that could still happen will answer it";
    } else {
      finding.message += node.waits_for.size() == 1 ? ", which has already returned"
                                                    : ", which have already returned";
      finding.ranks.insert(finding.ranks.end(), node.waits_for.begin(), node.waits_for.end());
    }
    return found(std::move(finding));
  }
  found({Verdict::deadlock, "deadlock: every rank waits and none can go on", {}, {}});
}

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
  const auto unreceived = unreceived_sends();
  if (!unreceived.empty()) {
    const Operation& send = *unreceived.front();
    const Request& request = send.request;
    const int dst = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
    std::string message =
        text("undelivered: rank ", send.owner.rank, " sent ", bytes_of(request), " bytes to rank ",
             dst, " with tag ", request.tag, group_of(request), and_place(request), ", and rank ",
             dst, " returned without receiving them");
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
                         group_of(one->request), and_place(one->request), ", and ",
                         list_of(missing), " returned without it"),
                    entered, place_of(one->request)});
    }
  }
  OperationPtr unwaited;
  for (const auto& handles : handles_) {
    for (const OperationPtr& operation : handles.places()) {
      if (operation && (!unwaited || operation->order < unwaited->order)) unwaited = operation;
    }
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
