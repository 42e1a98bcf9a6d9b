// What the collectives over messages cost is what the closed forms beside their contracts say: the
// simulator counts it, message by message, and both numbers are compared without any tolerance.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/collectives/simulated_counters.hpp"

using namespace lockstep;
using collectives::Cost;
using lockstep::test::Approx, lockstep::test::counted, lockstep::test::element_bytes,
    lockstep::test::Values;

namespace {

constexpr int worlds[] = {1, 2, 3, 4, 5, 7, 8, 16, 64};

Cost cost_of(const sim::Counters& counters) {
  Cost cost;
  cost.depth = counters.depth;
  for (const auto& rank : counters.ranks) {
    cost.messages += rank.messages_sent;
    cost.elements += rank.bytes_sent / element_bytes;
    cost.busiest = std::max(cost.busiest, rank.bytes_sent / element_bytes);
  }
  return cost;
}

std::string text_of(const Cost& cost) {
  return text("depth ", cost.depth, ", messages ", cost.messages, ", elements ", cost.elements,
              ", busiest ", cost.busiest);
}

std::vector<apps::SimProgram> made_of_messages() {
  std::vector<apps::SimProgram> programs;
  for (const auto& program : apps::sim_programs()) {
    if (program.cost != nullptr) programs.push_back(program);
  }
  return programs;
}

}  // namespace

TEST_CASE(
    "collectives: depth, messages, all bytes and the busiest rank's are those of the formula") {
  for (const auto& program : made_of_messages()) {
    for (const int ranks : worlds) {
      for (const std::int64_t count : {0, 1, ranks - 1, 31, 1009, 1 << 20}) {
        INFO(program.name << " of " << count << " on " << ranks << " ranks");
        const auto counters = counted(program, ranks, count, Values::none);
        CHECK(text_of(cost_of(counters)) == text_of(program.cost(ranks, count)));
      }
    }
  }
}

TEST_CASE("collectives: a part's cost is found by its name") {
  for (const auto& program : made_of_messages()) {
    INFO(program.name);
    const auto named = collectives::cost_of(program.name, 7, 31);
    REQUIRE(named.has_value());
    CHECK(*named == program.cost(7, 31));
  }
  CHECK_FALSE(collectives::cost_of("all_reduce", 7, 31).has_value());
}

TEST_CASE("collectives: virtual time is the formula's where all blocks are equally long") {
  const sim::Link link = sim::Network{}.within();
  for (const auto& program : made_of_messages()) {
    for (const int ranks : worlds) {
      for (const std::int64_t count :
           {std::int64_t{0}, std::int64_t{ranks} * 64, std::int64_t{1} << 40}) {
        if (count % ranks != 0) continue;
        INFO(program.name << " of " << count << " on " << ranks << " ranks");
        const double expected = seconds(program.cost(ranks, count).path, link, element_bytes);
        const double seen = counted(program, ranks, count, Values::none).makespan_s;
        // Sums of up to some hundred steps, in another order.
        CHECK(seen == Approx(expected).epsilon(1e-12).margin(1e-18));
      }
    }
  }
}

TEST_CASE("collectives: the values are right where their cost is measured") {
  for (const auto& program : made_of_messages()) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 16}) {
      for (const std::int64_t count : {0, 1, ranks - 1, 31}) {
        INFO(program.name << " of " << count << " on " << ranks << " ranks");
        const auto with_values = counted(program, ranks, count, Values::all);
        CHECK(text_of(cost_of(with_values)) == text_of(program.cost(ranks, count)));
      }
    }
  }
}

TEST_CASE("hierarchical all-reduce: what is sent, and what leaves a node, is that of the formula") {
  for (const auto& [nodes, each] :
       {std::pair{1, 1}, {1, 8}, {8, 1}, {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}, {8, 8}}) {
    sim::Network network;
    network.ranks_per_node = each;
    const int ranks = nodes * each;
    for (const std::int64_t count : {0, 1, ranks - 1, 31, 1009, 1 << 20}) {
      INFO(count << " elements on " << nodes << " nodes of " << each);
      const auto counters = counted(test::program_named("hierarchical_all_reduce"), ranks, count,
                                    Values::none, network);
      const auto expected = collectives::hierarchical_all_reduce_cost(ranks, each, count);
      Cost seen = cost_of(counters);
      // Below N elements some messages are empty, and chains may be shorter.
      if (count < ranks) {
        CHECK(seen.depth <= expected.all.depth);
        seen.depth = expected.all.depth;
      }
      CHECK(text_of(seen) == text_of(expected.all));
      std::int64_t left = 0;
      for (const auto& rank : counters.ranks) left += rank.bytes_left_node / element_bytes;
      CHECK(left == (nodes > 1 ? expected.elements_between : 0));
      if (count == 0 || count % ranks != 0) continue;
      CHECK(counters.makespan_s ==
            Approx(seconds(expected.within, network.within(), element_bytes) +
                   seconds(expected.between, network.between, element_bytes))
                .epsilon(1e-12)
                .margin(1e-18));
    }
  }
}

TEST_CASE(
    "hierarchical all-reduce: faster than a ring on two levels, not slower where all is alike") {
  for (const double faster : {1.0, 10.0}) {
    sim::Network network;
    network.ranks_per_node = 4;
    network.between = network.within();
    network.between.bandwidth_bytes_s /= faster;
    for (const std::int64_t count : {8, 8000, 8 << 20}) {
      const auto time_of = [&](std::string_view name) {
        return counted(test::program_named(name), 8, count, Values::none, network).makespan_s;
      };
      INFO(count << " elements, links in a node " << faster << " times as fast");
      const double flat = time_of("ring_all_reduce"), levels = time_of("hierarchical_all_reduce");
      CHECK(levels <= flat * (1 + 1e-12));
      if (faster > 1) CHECK(levels < flat);
    }
  }
}

TEST_CASE("all-reduce: a tree is faster than a ring for one element, and slower for a million") {
  const sim::Link link = sim::Network{}.within();
  const auto ring = [&](std::int64_t count) {
    return seconds(collectives::ring_all_reduce_cost(8, count).path, link, element_bytes);
  };
  const auto tree = [&](std::int64_t count) {
    return seconds(collectives::tree_all_reduce_cost(8, count).path, link, element_bytes);
  };
  CHECK(tree(1) < ring(1));
  CHECK(tree(1 << 20) > ring(1 << 20));
}

TEST_CASE("all-reduce: eight ranks with ten units send 70 each naively, and 17.5 round a ring") {
  const std::int64_t unit = 8 * 100;
  CHECK(collectives::naive_all_reduce_cost(8, 10 * unit).busiest == 70 * unit);
  CHECK(2 * collectives::ring_all_reduce_cost(8, 10 * unit).busiest == 35 * unit);
}
