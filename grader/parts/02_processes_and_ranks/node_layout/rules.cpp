#include "grader/parts/02_processes_and_ranks/node_layout/rules.hpp"

#include <algorithm>
#include <cctype>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::node_layout {
namespace {

using launch::Place;
using launch::WorkerEnv;
using Layout = std::vector<int>;

// The numbers a layout has, right and wrong.
struct Numbers {
  int nodes, size, local_size, largest, used_nodes, rank;
};

Numbers numbers_of(const LayoutQuestion& q) {
  const Layout& layout = q.ranks_per_node;
  const std::vector<Place> places = all_places(layout);
  const auto me = std::find(places.begin(), places.end(), Place{q.node, q.local_rank});
  return {
      static_cast<int>(layout.size()),
      static_cast<int>(places.size()),
      layout[static_cast<std::size_t>(q.node)],
      *std::max_element(layout.begin(), layout.end()),
      static_cast<int>(std::count_if(layout.begin(), layout.end(), [](int n) { return n > 0; })),
      static_cast<int>(me - places.begin())};
}

// The rank when nodes take turns: local ranks 0 of all nodes, then local ranks 1, …
int rank_by_turns(const LayoutQuestion& q) {
  int rank = 0;
  for (int local = 0; local <= q.local_rank; ++local) {
    for (int node = 0; node < static_cast<int>(q.ranks_per_node.size()); ++node) {
      if (local == q.local_rank && node == q.node) return rank;
      if (local < q.ranks_per_node[static_cast<std::size_t>(node)]) ++rank;
    }
  }
  return rank;
}

std::vector<Mistake<std::string>> mistakes_for_ranks(const std::string& name,
                                                     const LayoutQuestion& q) {
  const Numbers n = numbers_of(q);
  if (name == "RANK") {
    return {
        {{"equal_nodes",
          "node · local world size + local rank is right only if all nodes start the same "
          "number of ranks; add up the ranks of the nodes before this one"},
         text(q.node * n.local_size + q.local_rank)},
        {{"equal_nodes",
          "this assumes that every node has as many ranks as node 0; add up the ranks of the "
          "nodes before this one"},
         text(q.node * q.ranks_per_node.front() + q.local_rank)},
        {{"equal_nodes", "this leaves gaps for processes that smaller nodes do not start"},
         text(q.node * n.largest + q.local_rank)},
        {{"local_for_global", "this is the local rank: two nodes would have the same ranks"},
         text(q.local_rank)},
        {{"round_robin", "this deals the ranks out to the nodes in turn; number them node by node"},
         text(rank_by_turns(q))},
        {{"round_robin", "this deals the ranks out to the nodes in turn; number them node by node"},
         text(q.local_rank * n.nodes + q.node)},
        {{"from_one", "ranks count from 0"}, text(n.rank + 1)},
        {{"reversed", "this counts backwards from the last rank"}, text(n.size - 1 - n.rank)}};
  }
  if (name == "LOCAL_RANK") {
    return {{{"global_for_local",
              "this is RANK; the local rank restarts at 0 on every node and selects the process's "
              "device"},
             text(n.rank)},
            {{"node_for_local", "this is the node's number"}, text(q.node)}};
  }
  const int used_before =
      static_cast<int>(std::count_if(q.ranks_per_node.begin(), q.ranks_per_node.begin() + q.node,
                                     [](int ranks) { return ranks > 0; }));
  return {{{"empty_node_skipped", "a node without processes is still a node and keeps its number"},
           text(used_before)},
          {{"rank_for_node", "this is RANK; here a group is a node"}, text(n.rank)},
          {{"local_for_node", "this is LOCAL_RANK; here a group is a node"}, text(q.local_rank)}};
}

std::vector<Mistake<std::string>> mistakes_for_sizes(const std::string& name,
                                                     const LayoutQuestion& q) {
  const Numbers n = numbers_of(q);
  if (name == "WORLD_SIZE") {
    return {
        {{"nodes_for_ranks",
          "this is the number of nodes; the world counts ranks, one per process"},
         text(n.nodes)},
        {{"equal_nodes", "this is right only if every node starts as many ranks as this one"},
         text(n.nodes * n.local_size)},
        {{"equal_nodes", "this is right only if every node starts as many ranks as the largest"},
         text(n.nodes * n.largest)},
        {{"equal_nodes", "this is right only if every node starts as many ranks as node 0"},
         text(n.nodes * q.ranks_per_node.front())},
        {{"local_for_global", "this is the number of ranks on one node"}, text(n.local_size)},
        {{"last_rank", "this is the last rank's number; ranks count from 0"}, text(n.size - 1)}};
  }
  if (name == "LOCAL_WORLD_SIZE") {
    return {
        {{"global_for_local", "this is the number of ranks on all nodes together"}, text(n.size)},
        {{"equal_nodes", "this is the largest node's number of ranks; nodes may be unequal"},
         text(n.largest)},
        {{"equal_nodes", "this is node 0's number of ranks; nodes may be unequal"},
         text(q.ranks_per_node.front())},
        {{"equal_nodes", "this is the mean over the nodes; nodes may be unequal"},
         text(n.size / n.nodes)}};
  }
  return {
      {{"empty_node_skipped", "a node without processes still counts as a node"},
       text(n.used_nodes)},
      {{"ranks_for_nodes", "this is the number of ranks; here a group is a node"}, text(n.size)},
      {{"ranks_for_nodes", "this is the number of ranks on one node; here a group is a node"},
       text(n.local_size)}};
}

std::string in_small_letters(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<Mistake<std::string>> mistakes_for(const std::string& name, const LayoutQuestion& q) {
  if (name == "MASTER_ADDR") {
    return {
        {{"letters_changed",
          "the host's capitals became small letters; hand it on as it was given"},
         in_small_letters(q.master.host)},
        {{"port_in_the_address", "the port has its own variable"},
         text(q.master.host, ":", q.master.port)},
        {{"cut_at_a_colon",
          "the host was cut at its first colon; an IPv6 address contains colons, and all of it is "
          "the host"},
         q.master.host.substr(0, q.master.host.find(':'))},
        {{"own_machine",
          "on another node this address names that node itself; all ranks must meet at one "
          "address"},
         "127.0.0.1"},
        {{"own_machine",
          "on another node this address names that node itself; all ranks must meet at one "
          "address"},
         "localhost"}};
  }
  if (name == "MASTER_PORT") {
    return {{{"default_port", "this is torchrun's default; use the given port"}, "29500"},
            {{"port_of_its_own", "every rank gets a different port, so no two ranks meet"},
             text(q.master.port + numbers_of(q).rank)},
            {{"port_of_its_own",
              "every local rank gets a different port, so the ranks of a node never meet"},
             text(q.master.port + q.local_rank)}};
  }
  return name.find("SIZE") == std::string::npos ? mistakes_for_ranks(name, q)
                                                : mistakes_for_sizes(name, q);
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

// Says what the variable is, for a value that no usual mistake gives.
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
  const Numbers n = numbers_of(q);
  return {{"RANK", text(n.rank)},
          {"LOCAL_RANK", text(q.local_rank)},
          {"GROUP_RANK", text(q.node)},
          {"WORLD_SIZE", text(n.size)},
          {"LOCAL_WORLD_SIZE", text(n.local_size)},
          {"GROUP_WORLD_SIZE", text(n.nodes)},
          {"MASTER_ADDR", q.master.host},
          {"MASTER_PORT", text(q.master.port)}};
}

Cause likely_cause(const std::string& name, const LayoutQuestion& q, const std::string& seen,
                   const std::string& expected) {
  for (const auto& [cause, value] : mistakes_for(name, q)) {
    if (value == seen && value != expected) return cause;
  }
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
  for (const int equal : {layout.front(), *std::max_element(layout.begin(), layout.end())}) {
    if (equal > 0 && seen == Place{q.rank / equal, q.rank % equal}) {
      return {"equal_nodes", text("this assumes that every node has ", counted(equal, "rank"))};
    }
  }
  LayoutQuestion turns = q;
  turns.node = seen.node, turns.local_rank = seen.local_rank;
  if (rank_by_turns(turns) == q.rank) {
    return {"round_robin",
            "this deals the ranks out to the nodes in turn; number them node by node"};
  }
  return {"other_place", text("this is the place of rank ", numbers_of(turns).rank,
                              "; add up the ranks of the nodes before that node")};
}

}  // namespace lockstep::grader::node_layout
