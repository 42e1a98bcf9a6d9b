// Rounds of negotiation between simulated ranks, each of which has its gradients in its own order:
//   build/release/bin/negotiation RANK RANK…
// A rank is the letters of its gradients as they become ready, with / between rounds: "ab/c".
#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/parallel/horovod/negotiate.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

using namespace lockstep;

namespace {

std::vector<std::string> rounds_of(const std::string& word) {
  std::vector<std::string> rounds{""};
  for (const char letter : word) {
    if (letter == '/') {
      rounds.emplace_back();
    } else {
      rounds.back() += letter;
    }
  }
  return rounds;
}

std::string spaced(const std::string& letters) {
  std::string all;
  for (const char letter : letters) all += std::string(all.empty() ? "" : " ") + letter;
  return all.empty() ? "nothing" : all;
}

// What all ranks print together. They are fibers, so nothing here is shared between threads.
struct Board {
  std::vector<std::string> asked;
  std::vector<std::int64_t> sent;
};

void show(int round, Board& board, const std::vector<horovod::Response>& responses) {
  std::cout << "round " << round << "\n";
  for (std::size_t rank = 0; rank < board.asked.size(); ++rank) {
    std::cout << "  rank " << rank << " has " << spaced(board.asked[rank]) << "\n";
  }
  std::string reduced;
  for (const horovod::Response& response : responses) {
    if (response.verdict == horovod::Verdict::reduce) reduced += response.name;
  }
  std::cout << "  all reduce " << spaced(reduced) << "\n";
  for (const horovod::Response& response : responses) {
    if (response.verdict != horovod::Verdict::reduce)
      std::cout << "  error: " << response.why << "\n";
  }
}

void take_part(comm::ProcessGroup& group, const std::vector<std::string>& ranks, Board& board) {
  const auto me = static_cast<std::size_t>(group.rank());
  const std::vector<std::string> mine = rounds_of(ranks[me]);
  std::set<char> missing;  // on some rank, and not yet reduced
  for (const std::string& word : ranks) missing.insert(word.begin(), word.end());
  missing.erase('/');
  std::string waiting;
  for (std::size_t round = 0; !missing.empty(); ++round) {
    if (round < mine.size()) waiting += mine[round];
    board.asked[me] = waiting;
    std::vector<horovod::Request> requests;
    for (const char letter : waiting) requests.push_back({.name = {letter}, .shape = {1}});
    const auto outlook =
        round + 1 < mine.size() ? horovod::Outlook::goes_on : horovod::Outlook::waits;
    const auto responses = horovod::negotiate(group, requests, {.outlook = outlook});
    if (me == 0) show(static_cast<int>(round) + 1, board, responses);
    for (const horovod::Response& response : responses) {
      if (response.verdict != horovod::Verdict::reduce) missing.clear();
      missing.erase(response.name[0]);
      std::erase(waiting, response.name[0]);
    }
  }
  board.sent[me] = group.traffic().bytes_sent;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 2) throw UsageError("usage: negotiation RANK RANK…, such as abc c/ab");
    const std::vector<std::string> ranks(words + 1, words + count);
    Board board{std::vector<std::string>(ranks.size()), std::vector<std::int64_t>(ranks.size())};
    sim::Options options;
    options.ranks = static_cast<int>(ranks.size());
    sim::Core core(options);
    const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
      take_part(*comm::make_sim_group(self.port, self.rank, self.ranks), ranks, board);
    });
    if (result.finding) throw Error(result.finding->message);
    std::cout << "bytes sent:";
    for (const std::int64_t bytes : board.sent) std::cout << " " << bytes;
    std::cout << "\n";
  } catch (const std::exception& error) {
    std::cerr << "negotiation: " << error.what() << "\n";
    return 2;
  }
}
