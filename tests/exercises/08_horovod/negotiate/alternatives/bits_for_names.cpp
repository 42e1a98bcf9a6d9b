// Bits instead of names: rank 0 tells its list, and each rank answers with a number a name, in one
// all-reduce. Only when a rank has something else to say, such as a gradient that waits too long,
// do all lists go to rank 0.
#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/bytes_of_ranks.hpp"
#include "engine/parallel/horovod/ready_list.hpp"

namespace lockstep::horovod {
namespace {

enum Answer : std::int64_t { has_it = 0, lacks_it = 1, differs = 2 };

std::vector<Response> decide_by_lists(const std::vector<ReadyList>& told, double limit_s) {
  std::vector<std::string> names;
  std::map<std::string, std::map<int, Request>> asked;
  bool all_wait = true;
  for (int rank = 0; rank < std::ssize(told); ++rank) {
    all_wait = all_wait && told[static_cast<std::size_t>(rank)].outlook == Outlook::waits;
    for (const Request& request : told[static_cast<std::size_t>(rank)].requests) {
      if (asked[request.name].empty()) names.push_back(request.name);
      asked[request.name][rank] = request;
    }
  }
  std::vector<Response> reduced, refused, stalled;
  for (const std::string& name : names) {
    const auto& of_ranks = asked[name];
    if (of_ranks.size() < told.size()) continue;
    const Request& first = of_ranks.at(0);
    const auto other = std::find_if(of_ranks.begin(), of_ranks.end(), [&](const auto& one) {
      return one.second.dtype != first.dtype || one.second.shape != first.shape;
    });
    if (other == of_ranks.end()) {
      reduced.push_back({name});
    } else {
      const std::string why = why_refused(0, first, other->first, other->second);
      refused.push_back({name, Verdict::refused, why});
    }
  }
  for (const std::string& name : names) {
    const auto& of_ranks = asked[name];
    if (of_ranks.size() == told.size()) continue;
    std::vector<int> have, lack;
    double waited_s = 0;
    for (int rank = 0; rank < std::ssize(told); ++rank) {
      (of_ranks.contains(rank) ? have : lack).push_back(rank);
    }
    for (const auto& [rank, request] : of_ranks) waited_s = std::max(waited_s, request.waited_s);
    const bool stuck = all_wait && reduced.empty() && refused.empty();
    if (!stuck && waited_s <= limit_s) continue;
    stalled.push_back({name, Verdict::stalled, why_stalled(name, have, lack, waited_s)});
  }
  reduced.insert(reduced.end(), refused.begin(), refused.end());
  reduced.insert(reduced.end(), stalled.begin(), stalled.end());
  return reduced;
}

}  // namespace

std::vector<Response> negotiate(comm::ProcessGroup& group, std::span<const Request> ready_here,
                                const NegotiateOptions& options) {
  const ReadyList mine{options.outlook, {ready_here.begin(), ready_here.end()}};
  if (group.size() == 1) return decide_by_lists({mine}, options.stall_limit_s);
  const ReadyList of_rank_0 = ready_list_from(broadcast_bytes(group, 0, bytes_of(mine)));
  const std::size_t names = of_rank_0.requests.size();
  CpuDevice device;
  const Tensor answers = full({static_cast<std::int64_t>(names) + 1}, 0, DType::int64, device);
  const auto data = answers.data<std::int64_t>();
  for (std::size_t i = 0; i < names; ++i) {
    const Request& asked = of_rank_0.requests[i];
    const auto own = std::ranges::find(ready_here, asked.name, &Request::name);
    if (own == ready_here.end()) {
      data[i] = lacks_it;
    } else {
      data[i] = own->dtype == asked.dtype && own->shape == asked.shape ? has_it : differs;
    }
  }
  const bool late = std::ranges::any_of(
      ready_here, [&](const Request& request) { return request.waited_s > options.stall_limit_s; });
  data[names] = late || options.outlook == Outlook::waits ? 1 : 0;
  group.all_reduce(answers, ReduceOp::max);
  const bool lists_needed =
      data[names] == 1 || std::ranges::find(data, std::int64_t{differs}) != data.end();
  if (!lists_needed) {
    std::vector<Response> released;
    for (std::size_t i = 0; i < names; ++i) {
      if (data[i] == has_it) released.push_back({of_rank_0.requests[i].name});
    }
    return released;
  }
  std::vector<ReadyList> told;
  for (const Bytes& bytes : gather_bytes(group, bytes_of(mine)))
    told.push_back(ready_list_from(bytes));
  Bytes decided;
  if (group.rank() == 0) decided = bytes_of(decide_by_lists(told, options.stall_limit_s));
  return responses_from(broadcast_bytes(group, 0, std::move(decided)));
}

}  // namespace lockstep::horovod
