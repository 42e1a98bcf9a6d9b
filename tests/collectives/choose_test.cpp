// What choose_all_reduce predicts is what the references take on the simulator.
#include <cmath>

#include "engine/collectives/choose_all_reduce.hpp"
#include "tests/catch.hpp"
#include "tests/collectives/simulated_counters.hpp"

using namespace lockstep;
using lockstep::test::counted, lockstep::test::element_bytes, lockstep::test::Values;

namespace {

constexpr const char* algorithms[] = {"naive_all_reduce", "ring_all_reduce", "tree_all_reduce",
                                      "halving_doubling_all_reduce", "hierarchical_all_reduce"};

sim::Network two_levels(int ranks_per_node) {
  sim::Network network;
  network.latency_s = 2e-6;
  network.gap_s = 0.5e-6;
  network.bandwidth_bytes_s = 200e9;
  network.ranks_per_node = ranks_per_node;
  network.between = {.latency_s = 7e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 20e9};
  return network;
}

// The largest |predicted / simulated - 1| of all algorithms for these ranks and elements.
double worst_error(int ranks, int ranks_per_node, std::int64_t count) {
  const sim::Network network = two_levels(ranks_per_node);
  const auto choice = collectives::choose_all_reduce({network.within(), network.between}, ranks,
                                                     ranks_per_node, count * element_bytes);
  double worst = 0;
  for (std::size_t i = 0; i < std::size(algorithms); ++i) {
    if (std::isinf(choice.seconds[i])) continue;  // hierarchical, on one node
    const double simulated =
        counted(test::program_named(algorithms[i]), ranks, count, Values::none, network).makespan_s;
    const double error = std::fabs(choice.seconds[i] / simulated - 1);
    if (error > 0.05) {
      UNSCOPED_INFO(algorithms[i] << ": predicted " << choice.seconds[i] << ", simulated "
                                  << simulated);
    }
    worst = std::max(worst, error);
  }
  return worst;
}

// At least one element for each rank: with fewer, some messages are empty and not sent.
constexpr std::int64_t counts[] = {64, 1000, 10'007, 1 << 20, 1 << 28};

}  // namespace

TEST_CASE("choose_all_reduce: on one node, predictions keep within 5 % of the simulator") {
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12, 16, 64}) {
    for (const std::int64_t count : counts) {
      INFO(ranks << " ranks, " << count << " elements");
      CHECK(worst_error(ranks, ranks, count) < 0.05);
    }
  }
}

TEST_CASE("choose_all_reduce: on several nodes of 2^k ranks, predictions keep within 5 %") {
  for (const auto& layout : {std::pair{2, 1}, {4, 2}, {8, 4}, {16, 8}, {32, 4}, {64, 8}}) {
    for (const std::int64_t count : counts) {
      INFO(layout.first << " ranks, " << layout.second << " on a node, " << count << " elements");
      CHECK(worst_error(layout.first, layout.second, count) < 0.05);
    }
  }
}
