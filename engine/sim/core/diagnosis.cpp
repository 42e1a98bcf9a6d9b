// Explanations. The core has found that nothing can go on; here the wait-for graph is read and the
// reason is put into a sentence.
//
// The search prefers, in this order: collectives that disagree (mismatch), a cycle (deadlock), a
// chain that ends at a rank which has already returned, or at a service. Names of mistakes follow
// the MPI Bugs Initiative where it has one [LSQ21].
#include <algorithm>
#include <set>

#include "engine/base/units.hpp"
#include "engine/sim/core/core_state.hpp"
#include "engine/sim/core/wait_graph.hpp"

namespace lockstep::sim {

namespace {

using Node = WaitGraph::Node;

bool sends(const Node& node) {
  return node.request->op == Op::send || node.request->op == Op::isend;
}
bool receives(const Node& node) {
  return node.request->op == Op::recv || node.request->op == Op::irecv;
}

// "12 bytes, tag 2, work/ring.cpp:21"
std::string details_of(const Request& request) {
  std::string result = counted(bytes_of(request), "byte");
  if (request.tag != 0) result += text(", tag ", request.tag);
  if (const auto place = place_of(request); !place.empty()) result += ", " + place;
  return result;
}

// "strand 'loader 0'"; without a name "strand 3".
std::string name_of_strand(int number, const StrandState& strand) {
  return strand.name.empty() ? text("strand ", number) : text("strand '", strand.name, "'");
}

// "rank 2", "rank 2 (strand 'loader 0')"
std::string who(const Node& node) {
  const int id = node.actor.strand;
  return text("rank ", node.actor.rank,
              id == 0 ? "" : text(" (", name_of_strand(id, *node.strand), ")"));
}

// "barrier in group 1 (ranks 0 and 2)"
std::string call_in_group(const Request& request, const Group& group) {
  return call_of(request) + group_of(request, group);
}

// "in recv from rank 3 (12 bytes, work/ring.cpp:21)"
std::string message_text(const Node& node, const Group& group) {
  const Request& request = *node.request;
  const bool blocking = request.op == Op::send || request.op == Op::recv;
  return text(blocking ? "in " : "for its ", name_of(request.op),
              sends(node) ? " to rank " : " from rank ", *node.peer, group_of(request, group), " (",
              details_of(request), ")");
}

// "rank 0 waits in recv from rank 3 (12 bytes, work/ring.cpp:21)"
std::string sentence_of(const WaitGraph& graph, const Node& node, const Group& group,
                        const std::map<int, StrandState>& strands) {
  const Request& request = *node.request;
  const auto waits = [&](const auto&... what) {
    return text(who(node), " waits ", what...) + and_place(request);
  };
  if (node.peer) return text(who(node), " waits ", message_text(node, group));
  if (node.collective) {
    return waits("in ", call_in_group(request, group), " for ",
                 list_of(graph.collective_of(node).missing));
  }
  if (request.op == Op::pause) return waits("in a monitor to be notified");
  if (request.op == Op::join) {
    const auto joined = static_cast<int>(request.handle);
    return waits("for its ", name_of_strand(joined, strands.at(joined)), " to end");
  }
  return waits("for the service '", request.name, "'");
}

// Why a cycle of this kind comes about, where one kind of call fills it.
//   other_tag   what a message in it would meet, were it not for the tag, or nothing
//   unreceived  a message that no rank receives, or nothing
std::string hint_of(const std::vector<Node>& cycle, const std::string& other_tag,
                    const std::string& unreceived) {
  const auto all = [&](auto is) { return std::all_of(cycle.begin(), cycle.end(), is); };
  const auto any = [&](auto is) { return std::any_of(cycle.begin(), cycle.end(), is); };
  const auto is = [](Op op) { return [op](const Node& node) { return node.request->op == op; }; };
  if (any(is(Op::pause))) {
    return "; another strand must make the condition true and then call notify_all()";
  }
  if (all(is(Op::send))) {
    return "; all of them send, and a send returns only when its receive is posted: one must "
           "receive first, or use isend";
  }
  if (all(is(Op::isend))) {
    if (!other_tag.empty()) return other_tag;
    return "; all of them wait for their sends before they receive: receive first, then wait()";
  }
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Node& from = cycle[i];
    const Node& to = cycle[(i + 1) % cycle.size()];
    if (!sends(from) || !receives(to) || to.peer != from.actor.rank) continue;
    if (from.request->op == Op::isend && from.request->tag != to.request->tag) {
      return text("; the tags differ: were these meant to be one message, or does rank ",
                  from.actor.rank, " wait for its isend too soon?");
    }
    return text("; ", name_of(from.request->op), " and ", name_of(to.request->op), " of ranks ",
                from.actor.rank, " and ", to.actor.rank, " do not match: their ",
                from.request->tag != to.request->tag ? "tags" : "groups", " differ");
  }
  if (all([](const Node& node) { return node.collective.has_value(); })) {
    return "; they call collectives of several groups in different orders";
  }
  for (const Node& node : cycle) {
    if (!node.collective) continue;
    return text("; no rank leaves ",
                node.request->op == Op::split ? "split" : name_of(node.request->collective),
                " before its whole group has entered");
  }
  if (!all(is(Op::recv))) return other_tag;
  if (unreceived.empty()) return "; all of them receive, but no rank has sent";
  return "; meanwhile no rank receives " + unreceived;
}

}  // namespace

void Core::State::diagnose_stuck() {
  for (const Group& group : groups_) {
    for (std::size_t i = 0; i < group.open.size(); ++i) {
      Finding finding = mismatch_of(group, group.open[i], group.completed + i + 1);
      if (!finding.message.empty()) return found(std::move(finding));
    }
  }
  const WaitGraph graph(strands_, groups_);
  if (const auto cycle = graph.cycle(); !cycle.empty()) return found(cycle_finding(graph, cycle));
  // Without a cycle every chain ends: at a rank that has returned, or at a service.
  for (const Node& node : graph.nodes()) {
    if (!graph.has_edge(node)) return found(end_finding(graph, node));
  }
  found({FindingKind::deadlock, "deadlock: every rank waits and none can continue", {}, {}});
}

std::string Core::State::waiting_text(const WaitGraph& graph, const Node& node) const {
  const Group& group = groups_[node.request->group];
  return sentence_of(graph, node, group, strands_[static_cast<std::size_t>(node.actor.rank)]);
}

// "rank 0's isend to rank 2 (12 bytes, work/ring.cpp:21)"
std::string Core::State::unmet_text(const Operation& message) const {
  const Request& request = request_of(message);
  const Group& group = groups_[request.group];
  const bool sends = request.op == Op::send || request.op == Op::isend;
  return text("rank ", message.owner.rank, "'s ", name_of(request.op),
              sends ? " to rank " : " from rank ",
              group.members[static_cast<std::size_t>(request.peer)], group_of(request, group), " (",
              details_of(request), ")");
}

// The other side of a message of the cycle may be there, under another tag.
std::string Core::State::other_tag(const std::vector<Node>& cycle) const {
  const auto sent = unmet(Side::send), posted = unmet(Side::receive);
  for (const Node& node : cycle) {
    if (!node.peer) continue;
    for (const Operation* other : sends(node) ? posted : sent) {
      const Request& request = request_of(*other);
      const Group& group = groups_[request.group];
      if (other->owner.rank != *node.peer || request.group != node.request->group) continue;
      if (group.members[static_cast<std::size_t>(request.peer)] != node.actor.rank) continue;
      return text("; ", unmet_text(*other),
                  " has another tag: were these meant to be one message?");
    }
  }
  return {};
}

// All of a short cycle; of a long one its beginning and its end.
Finding Core::State::cycle_finding(const WaitGraph& graph,
                                   const std::vector<std::size_t>& cycle) const {
  constexpr std::size_t shown_max = 8, head = 4, tail = 2;
  Finding finding{FindingKind::deadlock, "deadlock: ", {}, {}};
  std::vector<Node> nodes, shown;
  for (const std::size_t i : cycle) nodes.push_back(graph.nodes()[i]);
  const bool cut = nodes.size() > shown_max;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    finding.ranks.push_back(nodes[i].actor.rank);
    if (cut && i >= head && i + tail < nodes.size()) {
      if (i == head)
        finding.message += text(", and so on through ", nodes.size() - head - tail, " more");
      continue;
    }
    finding.message += text(i == 0 ? "" : ", ", waiting_text(graph, nodes[i]));
    shown.push_back(nodes[i]);
  }
  finding.where = place_of(*nodes.front().request);
  const auto sends = unmet(Side::send);
  finding.message +=
      ": none can go first" +
      hint_of(nodes, other_tag(shown), sends.empty() ? "" : unmet_text(*sends.front()));
  return finding;
}

Finding Core::State::end_finding(const WaitGraph& graph, const Node& node) const {
  Finding finding{FindingKind::deadlock, {}, {node.actor.rank}, place_of(*node.request)};
  if (node.collective) return left_finding(graph, node);
  finding.message = "deadlock: " + waiting_text(graph, node);
  if (node.request->op == Op::pause) {
    const std::string thrown = thrown_by({node.actor.rank});
    finding.message += ", and all other strands of this rank have ended" +
                       (thrown.empty() ? ": did an exception end one?" : thrown);
  } else if (!node.peer) {
    finding.message += ", and nothing can answer it anymore";
  } else {
    finding.message +=
        text(", which has already returned without ", sends(node) ? "receiving" : "sending", " it",
             thrown_by({*node.peer}), meanwhile(graph, node));
    finding.ranks.push_back(*node.peer);
    finding.cause = "returned_early";
  }
  return finding;
}

// "ranks 0 and 1 wait in barrier (work/a.cpp:3) for rank 2, which has already returned"
Finding Core::State::left_finding(const WaitGraph& graph, const Node& node) const {
  const auto& [waiting, missing] = graph.collective_of(node);
  const Request& request = *node.request;
  std::set<int> ranks;  // one may wait with several strands
  for (const std::size_t i : waiting) ranks.insert(graph.nodes()[i].actor.rank);
  Finding finding{
      FindingKind::deadlock, {}, {ranks.begin(), ranks.end()}, place_of(request), "returned_early"};
  finding.message =
      text("deadlock: ", list_of(finding.ranks), ranks.size() == 1 ? " waits" : " wait", " in ",
           call_in_group(request, groups_[request.group]), and_place(request), " for ",
           list_of(missing), missing.size() == 1 ? ", which has" : ", which have",
           " already returned without calling it", thrown_by(missing));
  finding.ranks.insert(finding.ranks.end(), missing.begin(), missing.end());
  return finding;
}

// "; rank 2 had thrown: no space is left": of the first of them that threw, or nothing.
std::string Core::State::thrown_by(const std::vector<int>& ranks) const {
  for (const int rank : ranks) {
    const std::string& what = threw_[static_cast<std::size_t>(rank)];
    if (!what.empty()) return text("; rank ", rank, " had thrown: ", what);
  }
  return {};
}

// Says what a rank misses that waits, or has sent, on the other side of a message that cannot
// arrive.
std::string Core::State::meanwhile(const WaitGraph& graph, const Node& node) const {
  const int rank = node.actor.rank;
  for (const Node& other : graph.nodes()) {
    const bool opposite = sends(node) ? receives(other) : sends(other);
    if (!opposite || other.peer != rank) continue;
    return text(
        "; meanwhile ", waiting_text(graph, other),
        sends(node) ? ": was it meant for that rank?" : ": was it meant to come from there?");
  }
  if (sends(node)) return {};
  for (const Operation* send : unmet(Side::send)) {
    const Request& request = request_of(*send);
    const auto dst = static_cast<std::size_t>(request.peer);
    if (groups_[request.group].members[dst] != rank) continue;
    return text("; meanwhile no rank receives ", unmet_text(*send));
  }
  return {};
}

}  // namespace lockstep::sim
