#include "engine/sim/model/library.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/base/error.hpp"
#include "engine/sim/model/network.hpp"

namespace lockstep::sim {

namespace {

// The latencies of [NCCLT], in seconds: baseLatencies and hwLatencies.
struct Latency {
  double ring_start, tree_start;
  std::array<double, 2> ring_within, tree_within;  // by wire: NVLink, PCI Express
  double ring_between, tree_between;
};
constexpr std::array<Latency, 3> latencies{
    Latency{6.6e-6, 6.8e-6, {0.6e-6, 1.0e-6}, {0.6e-6, 1.0e-6}, 2.7e-6, 5.0e-6},     // LL
    Latency{14e-6, 14e-6, {1.9e-6, 2.5e-6}, {1.25e-6, 1.9e-6}, 4.0e-6, 8.5e-6},      // LL128
    Latency{8.4e-6, 8.4e-6, {3.4e-6, 5.7e-6}, {4.0e-6, 4.0e-6}, 14.0e-6, 14.0e-6}};  // Simple
constexpr double in_switch_start_s = 25e-6;

// Likewise, what a protocol and a tree leave of the bandwidth.
constexpr double ll_in_ring = 0.5, ll_in_tree = 1 / 3.8;
constexpr double ll128_in_ring = 0.92, ll128_in_tree_within = 7.0 / 9, ll128_in_tree = 120.0 / 128;
constexpr double tree_share = 0.92;

const Latency& latency_of(Protocol protocol) {
  return latencies[static_cast<std::size_t>(protocol)];
}

// A group and what its steps run over.
class LibraryCourse {
 public:
  LibraryCourse(const Extent& group, const Network& network)
      : library_(*network.library),
        n_(group.members),
        nodes_(group.nodes),
        per_node_(n_ / nodes_),
        wire_(static_cast<std::size_t>(library_.wire)),
        port_bytes_s_(network.bandwidth_bytes_s * library_.port_achieved),
        switch_bytes_s_(network.bandwidth_bytes_s * library_.in_switch_achieved),
        gap_s_(several() ? network.between.gap_s : network.gap_s),
        card_bytes_s_(network.between.bandwidth_bytes_s * library_.card_achieved) {
    const double cards = network.cards_per_node;
    card_share_ = cards > 0 ? std::min(1.0, cards / per_node_) : 1;
  }

  // `turns` times around, b bytes over each link of the ring in all.
  double ring(double turns, double bytes, Protocol protocol) const {
    const Latency& latency = latency_of(protocol);
    const double crossing = turns * (nodes_ - 1);
    return library_.start_s + latency.ring_start +
           (turns * (n_ - 1) - crossing) * latency.ring_within[wire_] +
           crossing * (latency.ring_between + library_.network_step_s) +
           bytes / ring_bytes_s(protocol);
  }
  double tree(double bytes, Protocol protocol) const {
    const Latency& latency = latency_of(protocol);
    const double levels = std::bit_width(static_cast<unsigned>(nodes_) - 1);  // ⌈log₂⌉
    return library_.start_s + latency.tree_start +
           2 * ((per_node_ - 1) * latency.tree_within[wire_] +
                levels * (latency.tree_between + library_.network_step_s)) +
           2 * bytes / tree_bytes_s(protocol);
  }
  double in_switch(double bytes) const {
    return library_.start_s + in_switch_start_s + bytes / switch_bytes_s_;
  }
  // b bytes for every peer, by all ranks of a node at once or by one alone.
  double pairs_of_all(double bytes) const { return pairs(bytes, card_bytes_s_ * card_share_); }
  double pairs_of_one(double bytes) const { return pairs(bytes, card_bytes_s_); }

  bool allows(Algorithm algorithm, Protocol protocol) const {
    return algorithm != Algorithm::in_switch ||
           (protocol == Protocol::simple && switch_bytes_s_ > 0 && !several());
  }
  const Choices& choices() const { return several() ? library_.between : library_.within; }

 private:
  bool several() const { return nodes_ > 1; }
  double pairs(double bytes, double card_bytes_s) const {
    const Latency& latency = latency_of(Protocol::simple);
    const double step =
        several() ? latency.ring_between + library_.network_step_s : latency.ring_within[wire_];
    return library_.start_s + latency.ring_start + step + (n_ - 1) * gap_s_ +
           std::max((per_node_ - 1) * bytes / port_bytes_s_,
                    (n_ - per_node_) * bytes / card_bytes_s);
  }

  double slowest_bytes_s() const {
    const double cards_bytes_s = per_node_ * card_share_ * card_bytes_s_;
    return several() ? std::min(port_bytes_s_, cards_bytes_s) : port_bytes_s_;
  }
  double at_most_ll(double bytes_s) const {
    return std::min(bytes_s, several() ? library_.ll_between_bytes_s : library_.ll_within_bytes_s);
  }
  double ring_bytes_s(Protocol protocol) const {
    const double all = slowest_bytes_s();
    if (protocol == Protocol::ll) return at_most_ll(all * ll_in_ring);
    return protocol == Protocol::ll128 ? all * ll128_in_ring : all;
  }
  double tree_bytes_s(Protocol protocol) const {
    const double all = slowest_bytes_s() * tree_share;
    if (protocol == Protocol::ll) return at_most_ll(all * ll_in_tree);
    if (protocol == Protocol::simple) return all;
    return all * (several() ? ll128_in_tree : ll128_in_tree_within);
  }

  const Library& library_;
  double n_, nodes_, per_node_;
  std::size_t wire_;
  double port_bytes_s_, switch_bytes_s_, gap_s_, card_bytes_s_;
  double card_share_ = 1;  // of a card, that each rank has when all send
};

// The cheapest of the allowed ones; `cost` takes an algorithm and a protocol.
template <typename Cost>
Price cheapest(const LibraryCourse& course, const std::vector<Algorithm>& algorithms, Cost&& cost) {
  Price best{-1};
  for (const Algorithm algorithm : algorithms) {
    for (const Protocol protocol : course.choices().protocols) {
      if (!course.allows(algorithm, protocol)) continue;
      const double seconds = cost(algorithm, protocol);
      if (best.seconds < 0 || seconds < best.seconds) best = {seconds, algorithm, protocol};
    }
  }
  LOCKSTEP_CHECK(best.seconds >= 0, "the library has no algorithm to choose from: allow a ring");
  return best;
}

Price ring(const LibraryCourse& course, double turns, double bytes) {
  return cheapest(course, {Algorithm::ring}, [&](Algorithm, Protocol protocol) {
    return course.ring(turns, bytes, protocol);
  });
}

Price all_reduce(const LibraryCourse& course, double n, double bytes) {
  return cheapest(course, course.choices().algorithms, [&](Algorithm algorithm, Protocol protocol) {
    if (algorithm == Algorithm::tree) return course.tree(bytes, protocol);
    if (algorithm == Algorithm::in_switch) return course.in_switch(bytes);
    return course.ring(2, 2 * (n - 1) / n * bytes, protocol);
  });
}

}  // namespace

std::string_view name_of(Wire wire) { return wire == Wire::nvlink ? "nvlink" : "pci"; }

std::string_view name_of(Algorithm algorithm) {
  constexpr std::array<std::string_view, 3> names{"ring", "tree", "in_switch"};
  return names[static_cast<std::size_t>(algorithm)];
}

std::string_view name_of(Protocol protocol) {
  constexpr std::array<std::string_view, 3> names{"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

Price library_price(Collective collective, const Extent& group, std::int64_t given,
                    const Network& network) {
  if (group.members == 1) return {};
  const LibraryCourse course(group, network);
  const auto n = static_cast<double>(group.members);
  const auto bytes = static_cast<double>(given);
  switch (collective) {
    case Collective::all_reduce:
      return all_reduce(course, n, bytes);
    case Collective::reduce_scatter:
      return ring(course, 1, (n - 1) / n * bytes);
    case Collective::all_gather:
      return ring(course, 1, (n - 1) * bytes);
    case Collective::broadcast:
    case Collective::reduce:
      return ring(course, 1, bytes);
    case Collective::gather:
      return {course.pairs_of_one(bytes)};
    case Collective::scatter:
      return {course.pairs_of_one(bytes / n)};
    case Collective::all_to_all:
      return {course.pairs_of_all(bytes / n)};
    case Collective::barrier:
      break;
  }
  return all_reduce(course, n, sizeof(float));  // as PyTorch does it
}

}  // namespace lockstep::sim
