// One round of negotiation; the steps a to c are those of negotiate.hpp.
#include "engine/parallel/horovod/negotiate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/bytes.hpp"
#include "engine/parallel/horovod/bytes_of_ranks.hpp"

namespace lockstep::horovod {
namespace {

// What one rank tells rank 0.
struct Told {
  Outlook outlook;
  std::vector<Request> requests;
};

Bytes bytes_of(const Told& told) {
  ByteWriter out;
  out.put(told.outlook).put(static_cast<std::uint32_t>(told.requests.size()));
  for (const Request& request : told.requests) {
    out.put_text(request.name).put(request.dtype).put(request.waited_s);
    const std::vector<std::int64_t> sizes(request.shape.begin(), request.shape.end());
    out.put_list(std::span(sizes));
  }
  return out.take();
}

Told told_from(const Bytes& bytes) {
  ByteReader in(bytes);
  Told told{in.get<Outlook>(), {}};
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    Request request{.name = in.get_text(), .dtype = in.get<DType>(), .waited_s = in.get<double>()};
    for (const std::int64_t size : in.get_list<std::int64_t>()) request.shape.push_back(size);
    told.requests.push_back(std::move(request));
  }
  return told;
}

Bytes bytes_of(const std::vector<Response>& responses) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(responses.size()));
  for (const Response& response : responses) {
    out.put_text(response.name).put(response.verdict);
    if (response.verdict != Verdict::reduce) out.put_text(response.why);
  }
  return out.take();
}

std::vector<Response> responses_from(const Bytes& bytes) {
  ByteReader in(bytes);
  std::vector<Response> responses(in.get<std::uint32_t>());
  for (Response& response : responses) {
    response.name = in.get_text();
    response.verdict = in.get<Verdict>();
    if (response.verdict != Verdict::reduce) response.why = in.get_text();
  }
  return responses;
}

// A name, and what each rank that has it said of it.
struct Asked {
  std::string name;
  std::vector<std::pair<int, Request>> by_rank = {};  // ascending
};

// The names of rank 0 first, in its order, then those that only later ranks have.
std::vector<Asked> asked_of(const std::vector<Told>& told) {
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

std::string tensor_text(const Request& request) {
  return text(name_of(request.dtype), " ", text_of(request.shape));
}

// Why the ranks' requests for one name are not the same tensor; empty if they are.
std::string difference_in(const Asked& asked) {
  const auto& [first, expected] = asked.by_rank.front();
  for (const auto& [rank, request] : asked.by_rank) {
    if (request.dtype == expected.dtype && request.shape == expected.shape) continue;
    return text("the gradient ", asked.name, " is ", tensor_text(expected), " on rank ", first,
                " and ", tensor_text(request), " on rank ", rank,
                "; every rank must build the same model, so compare what its sizes and types are "
                "made of on these two ranks");
  }
  return {};
}

// "rank 1", "ranks 0, 2"
std::string ranks_text(const std::vector<int>& ranks) {
  std::string all = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) all += text(i == 0 ? "" : ", ", ranks[i]);
  return all;
}

std::string stall_text(const Asked& asked, int ranks) {
  std::vector<int> here, missing;
  for (const auto& [rank, request] : asked.by_rank) here.push_back(rank);
  for (int rank = 0; rank < ranks; ++rank) {
    if (!std::ranges::binary_search(here, rank)) missing.push_back(rank);
  }
  double waited_s = 0;
  for (const auto& [rank, request] : asked.by_rank) waited_s = std::max(waited_s, request.waited_s);
  return text("the gradient ", asked.name, " is ready on ", ranks_text(here), " and not on ",
              ranks_text(missing), ", after ", waited_s,
              " s: these ranks train different parameters, or one of them is stuck; compare the "
              "lists of parameters of their optimizers");
}

// Step b.
std::vector<Response> decide(const std::vector<Told>& told, double stall_limit_s) {
  std::vector<Response> released, refused, stalled;
  const auto all_wait =
      std::ranges::all_of(told, [](const Told& one) { return one.outlook == Outlook::waits; });
  const std::vector<Asked> all = asked_of(told);
  for (const Asked& asked : all) {
    if (asked.by_rank.size() != told.size()) continue;
    const std::string difference = difference_in(asked);
    if (difference.empty()) {
      released.push_back({asked.name});
    } else {
      refused.push_back({asked.name, Verdict::refused, difference});
    }
  }
  const bool nothing_moves = all_wait && released.empty() && refused.empty();
  for (const Asked& asked : all) {
    if (asked.by_rank.size() == told.size()) continue;
    const bool late = std::ranges::any_of(asked.by_rank, [&](const auto& of_rank) {
      return of_rank.second.waited_s > stall_limit_s;
    });
    if (nothing_moves || late) {
      stalled.push_back(
          {asked.name, Verdict::stalled, stall_text(asked, static_cast<int>(told.size()))});
    }
  }
  std::vector<Response> responses = std::move(released);
  responses.insert(responses.end(), refused.begin(), refused.end());
  responses.insert(responses.end(), stalled.begin(), stalled.end());
  return responses;
}

}  // namespace

std::vector<Response> negotiate(comm::ProcessGroup& group, std::span<const Request> ready_here,
                                const NegotiateOptions& options) {
  std::set<std::string> names;
  for (const Request& request : ready_here) {
    LOCKSTEP_CHECK(names.insert(request.name).second, "negotiate: rank ", group.rank(),
                   " asks twice for the gradient ", request.name,
                   "; names must be unique, or two tensors would be taken for one");
  }
  const Told mine{options.outlook, {ready_here.begin(), ready_here.end()}};
  if (group.size() == 1) return decide({mine}, options.stall_limit_s);
  const std::vector<Bytes> brought = gather_bytes(group, bytes_of(mine));
  Bytes decided;
  if (group.rank() == 0) {
    std::vector<Told> told;
    for (const Bytes& bytes : brought) told.push_back(told_from(bytes));
    decided = bytes_of(decide(told, options.stall_limit_s));
  }
  return responses_from(broadcast_bytes(group, 0, std::move(decided)));
}

}  // namespace lockstep::horovod
