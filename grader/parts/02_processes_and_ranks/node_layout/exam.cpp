// The exam of node_layout: every variable's text, and the way back from a rank to its place. The
// judge lists all processes, node by node, and looks them up (rules.hpp).
#include <algorithm>
#include <climits>
#include <numeric>

#include "grader/exam/function/exam.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/02_processes_and_ranks/node_layout/rules.hpp"

namespace lockstep::grader::node_layout {
namespace {

using launch::Place;
using launch::WorkerEnv;
using Layout = std::vector<int>;

std::string text_of(const LayoutQuestion& q) {
  const std::string layout = text("ranks_per_node ", listed(q.ranks_per_node));
  if (q.form == LayoutForm::place) return text(layout, ", rank ", q.rank);
  return text(layout, ", local rank ", q.local_rank, " of node ", q.node);
}

Failure wrong_answer(const LayoutQuestion& q, const std::string& seen, const std::string& expected,
                     const Cause& cause) {
  return because(cause,
                 {.message = text(text_of(q), ": ", seen, " where ", expected, " was expected"),
                  .expected = expected,
                  .seen = seen});
}

std::optional<Failure> wrong_environment(const LayoutQuestion& q, const WorkerEnv& seen) {
  const WorkerEnv expected = expected_of(q);
  for (const auto& [name, value] : expected) {
    const auto found = seen.find(name);
    if (found == seen.end()) {
      return wrong_answer(
          q, text("no ", name), text(name, "=", value),
          {"variable_missing", "a program that reads this variable stops with an error"});
    }
    if (found->second == value) continue;
    return wrong_answer(q, text(name, "=\"", found->second, "\""), text("\"", value, "\""),
                        likely_cause(name, q, found->second, value));
  }
  for (const auto& [name, value] : seen) {
    if (expected.contains(name)) continue;
    return wrong_answer(
        q, text(name, "=\"", value, "\""), "no such variable",
        {"variable_too_many", "the contract lists exactly eight names; check the spelling"});
  }
  return std::nullopt;
}

std::string words_of(const Place& place) {
  return text("node ", place.node, ", local rank ", place.local_rank);
}

std::optional<Failure> wrong(std::span<const LayoutQuestion> asked, const LayoutAnswer& seen) {
  const LayoutQuestion& q = asked.back();
  if (q.form == LayoutForm::environment) return wrong_environment(q, seen.environment);
  const Place right = all_places(q.ranks_per_node)[static_cast<std::size_t>(q.rank)];
  if (seen.place == right) return std::nullopt;
  return wrong_answer(q, words_of(seen.place), words_of(right), likely_cause(q, seen.place, right));
}

bool exists(const LayoutQuestion& q) {
  const auto places = all_places(q.ranks_per_node);
  if (q.form == LayoutForm::place) return q.rank >= 0 && std::cmp_less(q.rank, places.size());
  return std::ranges::find(places, Place{q.node, q.local_rank}) != places.end();
}

LayoutQuestion place_in(const Layout& layout, int rank) {
  return {LayoutForm::place, layout, 0, 0, {}, rank};
}
LayoutQuestion environment_in(const Layout& layout, int node, int local_rank) {
  return {LayoutForm::environment, layout, node, local_rank, {"node-0", 29400}, 0};
}

const FunctionContract<LayoutQuestion, LayoutAnswer> contract{
    .text_of = text_of,
    .wrong = wrong,
    .refusals = {{.valid = exists,
                  .accepts = {"no_such_rank", "the nodes start no such process"},
                  .refuses = {"refused_a_valid_place", "the layout has this process"},
                  .nonsense = {place_in({4, 4}, 8), place_in({4, 4}, 108), place_in({4, 4}, -1),
                               place_in({4, 4}, INT_MAX), place_in({4, 4}, INT_MIN),
                               place_in({2, 0, 3}, 5), place_in({3, 0}, 3), place_in({0, 0}, 0),
                               place_in({}, 0), environment_in({4, 4}, 2, 0),
                               environment_in({4, 4}, -1, 0), environment_in({4, 2}, 1, 2),
                               environment_in({4, 4}, 1, -1), environment_in({4, 0}, 1, 0),
                               environment_in({}, 0, 0)}}},
    .sizes = [](const LayoutQuestion& q) -> Sizes {
      return {std::accumulate(q.ranks_per_node.begin(), q.ranks_per_node.end(), 0),
              {std::ssize(q.ranks_per_node)}};
    },
    .least_count = 1};

// A name with capitals, a number, an IPv6 number.
comm::Endpoint drawn_master(CaseRunner& runner) {
  const auto port = static_cast<int>(runner.draw_between(1, 65535));
  switch (runner.draw() % 3) {
    case 0:
      return {text("Node-", runner.draw_between(0, 999), ".Cluster"), port};
    case 1:
      return {text("10.", runner.draw_between(0, 255), ".", runner.draw_between(0, 255), ".7"),
              port};
    default:
      return {text("fd00::", runner.draw_between(1, 9)), port};
  }
}

std::vector<LayoutQuestion> environments(CaseRunner& runner, const Layout& layout) {
  std::vector<LayoutQuestion> questions;
  const comm::Endpoint master = drawn_master(runner);
  for (const Place& place : all_places(layout)) {
    questions.push_back({LayoutForm::environment, layout, place.node, place.local_rank, master, 0});
  }
  return questions;
}

std::vector<LayoutQuestion> places(const Layout& layout) {
  std::vector<LayoutQuestion> questions;
  const int size = std::accumulate(layout.begin(), layout.end(), 0);
  for (int rank = 0; rank < size; ++rank) questions.push_back(place_in(layout, rank));
  return questions;
}

void ask_both(CaseRunner& runner, const std::string& description, const Layout& layout) {
  ask(runner, contract, description + ": the variables", environments(runner, layout));
  ask(runner, contract, description + ": the places", places(layout));
}

Layout drawn_layout(CaseRunner& runner, int nodes, int least) {
  Layout layout;
  for (int node = 0; node < nodes; ++node)
    layout.push_back(static_cast<int>(runner.draw_between(least, 8)));
  return layout;
}

// The first rank, one in the middle and the last of each number of ranks.
std::vector<LayoutQuestion> of_every_size(CaseRunner& runner) {
  std::vector<LayoutQuestion> questions;
  for (const int size : every_rank_count) {
    const Layout layout =
        size == 1 ? Layout{1} : Layout{size / 2, 0, size - size / 2 - 1, 1, 0, 0, 0};
    const auto all = environments(runner, layout);
    for (const int rank : {0, size / 2, size - 1}) {
      questions.push_back(all[static_cast<std::size_t>(rank)]);
      questions.push_back(place_in(layout, rank));
    }
  }
  const Layout wide{70'000, 3};
  questions.push_back(environment_in(wide, 1, 2));
  questions.push_back(place_in(wide, 70'001));
  return questions;
}

}  // namespace

Exam exam() {
  return {
      {"with two nodes of four, rank 5 is local rank 1 of node 1",
       [](CaseRunner& runner) {
         ask(runner, contract, "two nodes of four: rank 5",
             {{LayoutForm::environment, {4, 4}, 1, 1, {"Node-0", 29400}, 0},
              {LayoutForm::environment, {4, 4}, 1, 1, {"fd00::2", 29400}, 0}});
         ask_both(runner, "two nodes of four", {4, 4});
       }},
      {"on one node rank and local rank are equal; one process is a world of one",
       [](CaseRunner& runner) {
         ask_both(runner, "one node", {static_cast<int>(runner.draw_between(2, 8))});
         ask_both(runner, "one process", {1});
       }},
      {"with unequal nodes, a node's ranks start after those of the nodes before it",
       [](CaseRunner& runner) {
         ask_both(runner, "small, large, one", {2, 8, 1});
         ask_both(runner, "large, small, large", {5, 1, 7});
         for (const int nodes : {2, 3, 4, 5, 7, 8}) {
           ask_both(runner, text(nodes, " unequal nodes"), drawn_layout(runner, nodes, 1));
         }
       }},
      {"nodes without processes keep their numbers, first, last or in the middle",
       [](CaseRunner& runner) {
         ask_both(runner, "the first node is empty", {0, 3, 2});
         ask_both(runner, "two in the middle are empty", {2, 0, 0, 3});
         ask_both(runner, "the last node is empty", {3, 1, 0});
         ask_both(runner, "drawn, with empty nodes", drawn_layout(runner, 12, 0));
       }},
      {"with 300 nodes of 8, every rank has one place and every place has one rank",
       [](CaseRunner& runner) {
         const Layout layout(300, 8);
         const std::vector<LayoutQuestion> all = environments(runner, layout);
         std::vector<LayoutQuestion> some;
         for (int i = 0; i < 40; ++i) some.push_back(all[runner.draw() % all.size()]);
         ask(runner, contract, "300 nodes: the variables", some);
         const std::vector<LayoutQuestion> ranks = places(layout);
         some.clear();
         for (int i = 0; i < 40; ++i) some.push_back(ranks[runner.draw() % ranks.size()]);
         ask(runner, contract, "300 nodes: the places", some);
         ask(runner, contract, "1 to 70,003 ranks", of_every_size(runner));
       }},
      check_of_refusals(contract, "a rank, a node or a local rank that does not exist is refused",
                        {place_in({2, 0, 3}, 4)}),
  };
}

}  // namespace lockstep::grader::node_layout
