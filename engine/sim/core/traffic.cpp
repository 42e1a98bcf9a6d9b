#include "engine/sim/core/traffic.hpp"

#include <map>
#include <utility>

namespace lockstep::sim {

namespace {

template <typename Place>
std::vector<Traffic> added_up(const Counters& counters, Place&& place) {
  std::map<std::pair<int, int>, Traffic> by_pair;
  for (const MessageRecord& message : counters.messages) {
    const int src = place(message.src), dst = place(message.dst);
    Traffic& one = by_pair.try_emplace({src, dst}, Traffic{src, dst}).first->second;
    ++one.messages;
    one.bytes += message.bytes;
  }
  std::vector<Traffic> all;
  for (const auto& [pair, one] : by_pair) all.push_back(one);
  return all;
}

}  // namespace

std::vector<Traffic> traffic_of(const Counters& counters) {
  return added_up(counters, [](int rank) { return rank; });
}

std::vector<Traffic> traffic_of_nodes(const Counters& counters, const Network& network) {
  return added_up(counters, [&](int rank) { return network.node_of(rank); });
}

}  // namespace lockstep::sim
