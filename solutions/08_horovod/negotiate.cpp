// Task: one round of negotiation. Every rank tells rank 0 which gradients are ready there. Rank 0
// finds those that are ready on all ranks, and decides what is reduced, in which order, what is
// refused, and what has stalled. It tells every rank, so that all return the same list. The
// contract is in engine/parallel/horovod/negotiate.hpp. engine/parallel/horovod/ready_list.hpp
// turns lists into bytes, and reasons into sentences; bytes_of_ranks.hpp beside it carries bytes to
// and from rank 0.
#include "engine/parallel/horovod/negotiate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/bytes_of_ranks.hpp"
#include "engine/parallel/horovod/ready_list.hpp"

namespace lockstep::horovod {

// >>> your code
namespace {

// A name, and what each rank that has it said of it.
struct Asked {
  std::string name;
  std::vector<std::pair<int, Request>> by_rank = {};  // ascending
};

// The names of rank 0 first, in its order, then those that only later ranks have.
std::vector<Asked> asked_of(const std::vector<ReadyList>& told) {
  std::vector<Asked> all;
  std::map<std::string, std::size_t> place;
  for (int rank = 0; rank < std::ssize(told); ++rank) {
    for (const Request& request : told[static_cast<std::size_t>(rank)].requests) {
      const auto [at, is_new] = place.try_emplace(request.name, all.size());
      if (is_new) all.push_back({request.name});
      all[at->second].by_rank.emplace_back(rank, request);
    }
  }
  return all;
}

// Why the ranks' requests for one name are not the same tensor; empty if they are.
std::string difference_in(const Asked& asked) {
  const auto& [first, expected] = asked.by_rank.front();
  for (const auto& [rank, request] : asked.by_rank) {
    if (request.dtype == expected.dtype && request.shape == expected.shape) continue;
    return why_refused(first, expected, rank, request);
  }
  return {};
}

std::string stall_text(const Asked& asked, int ranks) {
  std::vector<int> have, lack;
  double waited_s = 0;
  for (const auto& [rank, request] : asked.by_rank) {
    have.push_back(rank);
    waited_s = std::max(waited_s, request.waited_s);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (!std::ranges::binary_search(have, rank)) lack.push_back(rank);
  }
  return why_stalled(asked.name, have, lack, waited_s);
}

// Step b.
std::vector<Response> decide(const std::vector<ReadyList>& told, double stall_limit_s) {
  std::vector<Response> responses, refused, stalled;
  const auto all_wait =
      std::ranges::all_of(told, [](const ReadyList& one) { return one.outlook == Outlook::waits; });
  const std::vector<Asked> all = asked_of(told);
  for (const Asked& asked : all) {
    if (asked.by_rank.size() != told.size()) continue;
    const std::string difference = difference_in(asked);
    if (difference.empty()) {
      responses.push_back({asked.name});
    } else {
      refused.push_back({asked.name, Verdict::refused, difference});
    }
  }
  const bool nothing_moves = all_wait && responses.empty() && refused.empty();
  for (const Asked& asked : all) {
    if (asked.by_rank.size() == told.size()) continue;
    const bool late = std::ranges::any_of(asked.by_rank, [&](const auto& of_rank) {
      return of_rank.second.waited_s > stall_limit_s;
    });
    if (!nothing_moves && !late) continue;
    const std::string why = stall_text(asked, static_cast<int>(told.size()));
    stalled.push_back({asked.name, Verdict::stalled, why});
  }
  responses.insert(responses.end(), refused.begin(), refused.end());
  responses.insert(responses.end(), stalled.begin(), stalled.end());
  return responses;
}

}  // namespace
// <<< your code

std::vector<Response> negotiate(comm::ProcessGroup& group, std::span<const Request> ready_here,
                                const NegotiateOptions& options) {
  std::set<std::string> names;
  for (const Request& request : ready_here) {
    LOCKSTEP_CHECK(names.insert(request.name).second, "negotiate: rank ", group.rank(),
                   " asks twice for the gradient ", request.name,
                   "; names must be unique, or two tensors would be taken for one");
  }
  // >>> your code
  const ReadyList mine{options.outlook, {ready_here.begin(), ready_here.end()}};
  if (group.size() == 1) return decide({mine}, options.stall_limit_s);
  const std::vector<Bytes> brought = gather_bytes(group, bytes_of(mine));
  Bytes decided;
  if (group.rank() == 0) {
    std::vector<ReadyList> told;
    for (const Bytes& bytes : brought) told.push_back(ready_list_from(bytes));
    decided = bytes_of(decide(told, options.stall_limit_s));
  }
  return responses_from(broadcast_bytes(group, 0, std::move(decided)));
  // <<< your code
}

}  // namespace lockstep::horovod
