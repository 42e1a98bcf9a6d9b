// The rounds are those of a tournament: one player stays, the others move on by one seat a round.
#include "engine/parallel/async_sgd/pair_groups.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/async_sgd/local_pair.hpp"

namespace lockstep::async_sgd {

std::vector<Round> rounds_of_pairs(int ranks) {
  LOCKSTEP_CHECK(ranks >= 1, "rounds_of_pairs: ", ranks, " ranks; there is one at least");
  if (ranks == 1) return {};
  const int seats = ranks + ranks % 2;  // the last may be empty
  std::vector<Round> rounds;
  for (int k = 0; k + 1 < seats; ++k) {
    Round round(static_cast<std::size_t>(ranks));
    const auto seated = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + k) % (seats - 1); };
    for (int seat = 0; seat < seats / 2; ++seat) {
      const int one = seated(seat), other = seated(seats - 1 - seat);
      if (one >= ranks || other >= ranks) continue;
      round[static_cast<std::size_t>(one)] = other;
      round[static_cast<std::size_t>(other)] = one;
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

PairGroups connect(comm::ProcessGroup& world, int servers, Strands& strands) {
  const int workers = world.size(), rank = world.rank();
  LOCKSTEP_CHECK(servers >= 1 && servers <= workers, "connect: ", servers, " servers on ", workers,
                 workers == 1 ? " rank" : " ranks", "; a rank has one server at most");
  PairGroups pairs;
  pairs.to_servers.resize(static_cast<std::size_t>(servers));
  if (rank < servers) {
    pairs.to_workers.resize(static_cast<std::size_t>(workers));
    LocalPair within = make_local_pair(strands, world);
    pairs.to_workers[static_cast<std::size_t>(rank)] = std::move(within.server);
    pairs.to_servers[static_cast<std::size_t>(rank)] = std::move(within.worker);
  }
  for (const Round& round : rounds_of_pairs(workers)) {
    // When two ranks meet, the lower one first serves the higher, then the other way round.
    for (const bool lower_serves : {true, false}) {
      const auto server_of = [&](int one, int other) {
        return lower_serves ? std::min(one, other) : std::max(one, other);
      };
      const auto is_needed = [&](int one) {
        const auto other = round[static_cast<std::size_t>(one)];
        return other && server_of(one, *other) < servers;
      };
      bool any = false;  // the same on all ranks: they know all the rounds
      for (int one = 0; one < workers; ++one) any = any || is_needed(one);
      if (!any) continue;
      const bool mine = is_needed(rank);
      const int server = mine ? server_of(rank, *round[static_cast<std::size_t>(rank)]) : 0;
      auto group = world.split(mine ? server : comm::no_color, rank == server ? 0 : 1);
      if (!mine) continue;
      if (rank == server) {
        pairs.to_workers[static_cast<std::size_t>(*round[static_cast<std::size_t>(rank)])] =
            std::move(group);
      } else {
        pairs.to_servers[static_cast<std::size_t>(server)] = std::move(group);
      }
    }
  }
  return pairs;
}

}  // namespace lockstep::async_sgd
