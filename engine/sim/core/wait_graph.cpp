#include "engine/sim/core/wait_graph.hpp"

#include <algorithm>

namespace lockstep::sim {

namespace {

bool is_message(Op op) {
  return op == Op::send || op == Op::isend || op == Op::recv || op == Op::irecv;
}

}  // namespace

const Request* blocking_request_of(const StrandState& strand) {
  if (strand.waits_on) return &request_of(*strand.waits_on);
  for (const auto* asked : {&strand.serving, &strand.joining, &strand.pausing}) {
    if (*asked) return &**asked;
  }
  return nullptr;
}

WaitGraph::WaitGraph(const std::vector<std::map<int, StrandState>>& strands,
                     const std::vector<Group>& groups) {
  std::unordered_map<const Operation*, std::size_t> collective_of;
  for (const Group& group : groups) {
    for (const auto& slot : group.open) {
      Collective open;
      for (std::size_t i = 0; i < slot.by_member.size(); ++i) {
        if (!slot.by_member[i]) open.missing.push_back(group.members[i]);
        if (slot.by_member[i]) collective_of[&*slot.by_member[i]] = collectives_.size();
      }
      collectives_.push_back(std::move(open));
    }
  }
  for (std::size_t rank = 0; rank < strands.size(); ++rank) {
    first_.push_back(nodes_.size());
    for (const auto& [id, strand] : strands[rank]) {
      const Request* request = strand.live ? blocking_request_of(strand) : nullptr;
      if (request == nullptr) continue;
      Node node{{static_cast<int>(rank), id}, &strand, request, {}, {}};
      if (is_message(request->op)) {
        node.peer = groups[request->group].members[static_cast<std::size_t>(request->peer)];
      } else if (strand.waits_on) {
        if (const auto at = collective_of.find(&*strand.waits_on); at != collective_of.end()) {
          node.collective = at->second;
          collectives_[at->second].waiting.push_back(nodes_.size());
        }
      }
      nodes_.push_back(node);
    }
  }
  first_.push_back(nodes_.size());
}

std::optional<std::size_t> WaitGraph::next_edge(const Node& from, Cursor& cursor) const {
  const auto leads_to = [&](const Node& to) {
    switch (from.request->op) {
      case Op::join:
        return std::cmp_equal(to.actor.strand, from.request->handle);
      case Op::pause:
        return to.actor != from.actor;
      case Op::service:
        return false;
      default:
        return true;
    }
  };
  const auto* missing = from.collective ? &collectives_[*from.collective].missing : nullptr;
  const std::size_t ranks = missing != nullptr ? missing->size() : 1;
  for (; cursor.rank < ranks; ++cursor.rank, cursor.node = 0) {
    const int rank =
        missing != nullptr ? (*missing)[cursor.rank] : from.peer.value_or(from.actor.rank);
    const auto at = static_cast<std::size_t>(rank);
    while (first_[at] + cursor.node < first_[at + 1]) {
      const std::size_t to = first_[at] + cursor.node++;
      if (leads_to(nodes_[to])) return to;
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> WaitGraph::cycle() const {
  enum : unsigned char { unseen, on_path, done };
  std::vector<unsigned char> state(nodes_.size(), unseen);
  std::vector<bool> explored(collectives_.size());  // no cycle lies beyond it
  std::vector<std::pair<std::size_t, Cursor>> path;
  const auto enter = [&](std::size_t at) {
    state[at] = on_path;
    path.emplace_back(at, Cursor{});
  };
  for (std::size_t start = 0; start < nodes_.size(); ++start) {
    if (state[start] == unseen) enter(start);
    while (!path.empty()) {
      auto& [at, cursor] = path.back();
      const Node& node = nodes_[at];
      const bool known = node.collective && explored[*node.collective];
      const auto next = known ? std::nullopt : next_edge(node, cursor);
      if (!next) {
        if (node.collective) explored[*node.collective] = true;
        state[at] = done;
        path.pop_back();
      } else if (state[*next] == unseen) {
        enter(*next);
      } else if (state[*next] == on_path) {
        std::vector<std::size_t> cycle;
        while (!path.empty() && path.back().first != *next) {
          cycle.push_back(path.back().first);
          path.pop_back();
        }
        cycle.push_back(*next);
        std::reverse(cycle.begin(), cycle.end());
        std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace lockstep::sim
