#include "engine/sim/model/price.hpp"

#include <algorithm>
#include <bit>

namespace lockstep::sim {

namespace {

double levels_of(int size) {  // ⌈log₂⌉
  return static_cast<double>(std::bit_width(static_cast<unsigned>(size - 1)));
}

// A group and what its steps run over.
struct PlainCourse {
  double members, nodes;
  Link within, between;

  // `all` steps, of which `crossing` lead from node to node.
  double steps(double all, double crossing, double bytes, double within_bytes_s,
               double between_bytes_s) const {
    return (all - crossing) * (within.latency_s + within.gap_s + bytes / within_bytes_s) +
           crossing * (between.latency_s + between.gap_s + bytes / between_bytes_s);
  }
  double ring(double turns, double bytes) const {
    const double cards = members / nodes * between.bandwidth_bytes_s;
    const double slowest =
        nodes > 1 ? std::min(within.bandwidth_bytes_s, cards) : within.bandwidth_bytes_s;
    return steps(turns * (members - 1), turns * (nodes - 1), bytes, slowest, slowest);
  }
  double tree(double turns, double bytes) const {
    return steps(turns * levels_of(static_cast<int>(members)),
                 turns * levels_of(static_cast<int>(nodes)), bytes, within.bandwidth_bytes_s,
                 between.bandwidth_bytes_s);
  }
  double pairs(double bytes) const {
    return steps(members - 1, members - members / nodes, bytes, within.bandwidth_bytes_s,
                 between.bandwidth_bytes_s);
  }
};

}  // namespace

double price_s(Collective collective, const Extent& group, std::int64_t given,
               const Network& network) {
  if (network.library) return library_price(collective, group, given, network).seconds;
  const auto n = static_cast<double>(group.members);
  const auto bytes = static_cast<double>(given);
  const PlainCourse course{n, static_cast<double>(group.nodes), network.within(), network.between};
  switch (collective) {
    case Collective::all_reduce:
      return course.ring(2, bytes / n);
    case Collective::reduce_scatter:
      return course.ring(1, bytes / n);
    case Collective::all_gather:
      return course.ring(1, bytes);
    case Collective::broadcast:
    case Collective::reduce:
      return course.tree(1, bytes);
    case Collective::gather:
      return course.pairs(bytes);
    case Collective::scatter:
    case Collective::all_to_all:
      return course.pairs(bytes / n);
    case Collective::barrier:
      break;
  }
  return course.tree(2, 0);
}

SentBytes& SentBytes::operator+=(const SentBytes& other) {
  all += other.all;
  left_node += other.left_node;
  return *this;
}

SentBytes sent_bytes(Collective collective, const Extent& group, std::int64_t bytes) {
  const std::int64_t n = group.members, m = group.nodes;
  const auto ring = [&](std::int64_t of_link) {
    return SentBytes{n * of_link, m > 1 ? m * of_link : 0};
  };
  switch (collective) {
    case Collective::all_reduce:
      return ring(2 * (n - 1) * bytes / n);
    case Collective::reduce_scatter:
      return ring((n - 1) * bytes / n);
    case Collective::all_gather:
      return ring((n - 1) * bytes);
    case Collective::broadcast:
    case Collective::reduce:
      return {(n - 1) * bytes, (m - 1) * bytes};
    case Collective::gather:
    case Collective::all_to_all:
      return {(n - 1) * bytes, (n - n / m) * bytes};
    case Collective::scatter:
      return {(n - 1) * bytes / n, (n - n / m) * bytes / n};
    case Collective::barrier:
      break;
  }
  return {};
}

}  // namespace lockstep::sim
