#include "engine/sim/model/library.hpp"

#include "engine/sim/model/network.hpp"
#include "engine/sim/model/price.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;

namespace {

// A library that reaches all of its links: ports of 100 GB/s, cards of 10 GB/s.
Network network_of(std::vector<Algorithm> algorithms, std::vector<Protocol> protocols) {
  Network network{.latency_s = 1e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 100e9};
  network.ranks_per_node = 8;
  network.between = {.latency_s = 1e-6, .gap_s = 1e-6, .bandwidth_bytes_s = 10e9};
  Library library;
  library.start_s = 1e-5;
  library.ll_within_bytes_s = library.ll_between_bytes_s = 1e9;
  library.within = library.between = {std::move(algorithms), std::move(protocols)};
  network.library = library;
  return network;
}

const std::vector ring{Algorithm::ring}, tree{Algorithm::tree};
const std::vector simple{Protocol::simple};
constexpr std::int64_t megabyte = 1'000'000;

double all_reduce_s(const Extent& group, std::int64_t bytes, const Network& network) {
  return library_price(Collective::all_reduce, group, bytes, network).seconds;
}

}  // namespace

TEST_CASE(
    "library: a ring takes its steps within nodes and between them, and the slowest link's time") {
  const Network network = network_of(ring, simple);
  const double one_node = 10e-6 + 8.4e-6 + 14 * 3.4e-6 + 2 * 7.0 / 8 * 8e6 / 100e9;
  CHECK(all_reduce_s({8, 1}, 8 * megabyte, network) == Approx(one_node));
  // Of 30 steps 2 lead to the other node; the cards of 8 ranks together carry 80 GB/s.
  const double two_nodes = 10e-6 + 8.4e-6 + 28 * 3.4e-6 + 2 * 14e-6 + 2 * 15.0 / 16 * 8e6 / 80e9;
  CHECK(all_reduce_s({16, 2}, 8 * megabyte, network) == Approx(two_nodes));
  const Price scatter = library_price(Collective::reduce_scatter, {16, 2}, 8 * megabyte, network);
  CHECK(scatter.seconds - 18.4e-6 == Approx((two_nodes - 18.4e-6) / 2));
  const Price gather = library_price(Collective::all_gather, {16, 2}, megabyte / 2, network);
  CHECK(gather.seconds == Approx(scatter.seconds));
}

TEST_CASE("library: a group is bounded by the cards of the ranks it has in a node") {
  Network network = network_of(ring, simple);
  const auto bytes_s = [&](const Extent& group) {
    const double more = all_reduce_s(group, 2000 * megabyte, network) -
                        all_reduce_s(group, 1000 * megabyte, network);
    return 2.0 * (group.members - 1) / group.members * 1e9 / more;
  };
  CHECK(bytes_s({16, 2}) == Approx(80e9));
  CHECK(bytes_s({2, 2}) == Approx(10e9));  // one rank in each node, one card
  CHECK(bytes_s({8, 2}) == Approx(40e9));
  network.cards_per_node = 2;
  CHECK(bytes_s({16, 2}) == Approx(20e9));
  CHECK(bytes_s({2, 2}) == Approx(10e9));
  CHECK(bytes_s({8, 1}) == Approx(100e9));
}

TEST_CASE("library: a tree's latency grows with the levels, a ring's with the ranks") {
  const Network rings = network_of(ring, simple), trees = network_of(tree, simple);
  const auto latency_s = [](const Network& network, int nodes) {
    return all_reduce_s({8 * nodes, nodes}, 0, network);
  };
  CHECK(latency_s(trees, 64) - latency_s(trees, 32) == Approx(2 * 14e-6));
  CHECK(latency_s(rings, 64) - latency_s(rings, 32) == Approx(2 * 32 * (7 * 3.4e-6 + 14e-6)));
  const Network either = network_of({Algorithm::ring, Algorithm::tree}, simple);
  CHECK(library_price(Collective::all_reduce, {512, 64}, 1000, either).algorithm ==
        Algorithm::tree);
  CHECK(library_price(Collective::all_reduce, {16, 2}, 1000 * megabyte, either).algorithm ==
        Algorithm::ring);
}

TEST_CASE(
    "library: small messages take a protocol of little delay, large ones that of full bandwidth") {
  const Network network = network_of(ring, {all_protocols.begin(), all_protocols.end()});
  const auto protocol = [&](std::int64_t bytes) {
    return library_price(Collective::all_reduce, {8, 1}, bytes, network).protocol;
  };
  CHECK(protocol(8) == Protocol::ll);
  CHECK(protocol(megabyte / 2) == Protocol::ll128);
  CHECK(protocol(1000 * megabyte) == Protocol::simple);
}

TEST_CASE("library: a switch that adds up serves a node, not several") {
  Network network = network_of({Algorithm::ring, Algorithm::in_switch}, simple);
  network.library->in_switch_achieved = 0.6;
  const Price one = library_price(Collective::all_reduce, {8, 1}, 1000 * megabyte, network);
  CHECK(one.algorithm == Algorithm::in_switch);
  CHECK(one.seconds == Approx(10e-6 + 25e-6 + 1e9 / 60e9));
  CHECK(library_price(Collective::all_reduce, {16, 2}, 1000 * megabyte, network).algorithm ==
        Algorithm::ring);
}

TEST_CASE("library: all_to_all sends what leaves a node through its cards") {
  Network network = network_of(ring, simple);
  const auto more_s = [&](const Extent& group) {
    return library_price(Collective::all_to_all, group, 2000 * megabyte, network).seconds -
           library_price(Collective::all_to_all, group, 1000 * megabyte, network).seconds;
  };
  CHECK(more_s({8, 1}) == Approx(7.0 / 8 * 1e9 / 100e9));
  CHECK(more_s({16, 2}) == Approx(8.0 / 16 * 1e9 / 10e9));
  network.cards_per_node = 1;
  CHECK(more_s({16, 2}) == Approx(8 * 8.0 / 16 * 1e9 / 10e9));
}

TEST_CASE("library: one rank alone pays nothing, and every collective has a price with more") {
  const Network network = network_of(ring, simple);
  for (const Collective collective :
       {Collective::all_reduce, Collective::broadcast, Collective::all_gather,
        Collective::reduce_scatter, Collective::reduce, Collective::gather, Collective::scatter,
        Collective::all_to_all, Collective::barrier}) {
    CHECK(price_s(collective, {1, 1}, 1000, network) == 0);
    const double two_s = price_s(collective, {2, 1}, 1000, network);
    CHECK(two_s > 10e-6);
    CHECK(price_s(collective, {16, 2}, 1000, network) > two_s);
  }
}

TEST_CASE("library: where it may choose nothing, it says so") {
  Network network = network_of({Algorithm::in_switch}, simple);
  CHECK_THROWS_WITH(all_reduce_s({16, 2}, 8, network), test::contains("allow a ring"));
}
