#include "grader/parts/02_processes_and_ranks/node_layout/rules.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"

namespace lockstep::grader::node_layout {
namespace {

using launch::Place;
using launch::WorkerEnv;
using Layout = std::vector<int>;

int rank_of(const LayoutQuestion& q) {
  const std::vector<Place> places = all_places(q.ranks_per_node);
  const auto me = std::ranges::find(places, Place{q.node, q.local_rank});
  return static_cast<int>(me - places.begin());
}

// "+3", " 3", "03", "3.0": a reader that takes only digits refuses them.
bool is_same_number(const std::string& seen, const std::string& expected) {
  try {
    std::size_t read = 0;
    const double number = std::stod(seen, &read);
    return seen.find_first_not_of(" \n", read) == std::string::npos &&
           number == std::stod(expected);
  } catch (const std::exception&) {
    return false;
  }
}

// Says what the variable is.
std::string contract_of(const std::string& name) {
  if (name == "RANK") return "RANK is the process's number in the world, counted node by node";
  if (name == "LOCAL_RANK") return "LOCAL_RANK is the process's number on its node, from 0";
  if (name == "GROUP_RANK") return "GROUP_RANK is the node's number, from 0";
  if (name == "WORLD_SIZE") return "WORLD_SIZE is the sum of ranks_per_node";
  if (name == "LOCAL_WORLD_SIZE") return "LOCAL_WORLD_SIZE is this node's entry in ranks_per_node";
  if (name == "GROUP_WORLD_SIZE")
    return "GROUP_WORLD_SIZE is the number of nodes, including nodes without ranks";
  if (name == "MASTER_ADDR") return "MASTER_ADDR is the host of `master`, as given";
  return "MASTER_PORT is the port of `master`";
}

// Says what the seen value would be right for, if for anything.
std::string meaning_of_other(const std::string& name, const LayoutQuestion& q,
                             const std::string& seen) {
  const bool digits =
      !seen.empty() && seen.size() < 9 && seen.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || name.rfind("MASTER", 0) == 0) return contract_of(name);
  const int value = std::stoi(seen);
  const std::vector<Place> places = all_places(q.ranks_per_node);
  const bool is_rank = std::cmp_less(value, places.size());
  if (name == "RANK" && is_rank) {
    const Place& other = places[static_cast<std::size_t>(value)];
    return text("this is the rank of local rank ", other.local_rank, " on node ", other.node, "; ",
                contract_of(name));
  }
  if (name == "RANK") {
    return text("the last of ", counted(std::ssize(places), "rank"), " is rank ",
                std::ssize(places) - 1, "; ", contract_of(name));
  }
  if (name.find("WORLD_SIZE") == std::string::npos) return contract_of(name);
  int before = 0;
  for (std::size_t node = 0; node < q.ranks_per_node.size(); ++node) {
    if (q.ranks_per_node[node] == value) {
      return text("this is the number of ranks on node ", node, "; ", contract_of(name));
    }
    before += q.ranks_per_node[node];
    if (before == value)
      return text("this is the number of ranks on nodes 0 to ", node, "; ", contract_of(name));
  }
  return contract_of(name);
}

}  // namespace

std::vector<Place> all_places(const Layout& layout) {
  std::vector<Place> places;
  for (int node = 0; node < static_cast<int>(layout.size()); ++node) {
    for (int local = 0; local < layout[static_cast<std::size_t>(node)]; ++local) {
      places.push_back({node, local});
    }
  }
  return places;
}

WorkerEnv expected_of(const LayoutQuestion& q) {
  return {{"RANK", text(rank_of(q))},
          {"LOCAL_RANK", text(q.local_rank)},
          {"GROUP_RANK", text(q.node)},
          {"WORLD_SIZE", text(all_places(q.ranks_per_node).size())},
          {"LOCAL_WORLD_SIZE", text(q.ranks_per_node[static_cast<std::size_t>(q.node)])},
          {"GROUP_WORLD_SIZE", text(q.ranks_per_node.size())},
          {"MASTER_ADDR", q.master.host},
          {"MASTER_PORT", text(q.master.port)}};
}

Cause likely_cause(const std::string& name, const LayoutQuestion& q, const std::string& seen,
                   const std::string& expected) {
  if (name != "MASTER_ADDR" && is_same_number(seen, expected)) {
    return {"other_digits",
            "the number is right, but its text is not: write digits and nothing else"};
  }
  return {"other_value", meaning_of_other(name, q, seen)};
}

Cause likely_cause(const LayoutQuestion& q, const Place& seen, const Place& right) {
  const Layout& layout = q.ranks_per_node;
  if (seen.node < 0 || seen.node >= static_cast<int>(layout.size())) {
    return {"no_such_node", text("there is no node ", seen.node)};
  }
  const int of_node = layout[static_cast<std::size_t>(seen.node)];
  if (of_node == 0) {
    return {"empty_node", text("node ", seen.node, " starts no process; go on to the next node")};
  }
  if (seen.local_rank < 0 || seen.local_rank >= of_node) {
    const char* why = seen.node == right.node && seen.local_rank == q.rank
                          ? "this is the rank in the world"
                          : "the local rank restarts at 0 on every node";
    return {"no_such_local_rank",
            text("node ", seen.node, " has only ", of_node, of_node == 1 ? " rank" : " ranks",
                 ", counted from 0; ", why)};
  }
  LayoutQuestion other = q;
  other.node = seen.node, other.local_rank = seen.local_rank;
  return {"other_place", text("this is the place of rank ", rank_of(other),
                              "; add up the ranks of the nodes before that node")};
}

}  // namespace lockstep::grader::node_layout
