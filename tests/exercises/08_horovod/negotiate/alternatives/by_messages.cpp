// Plain messages to rank 0 and back, and a count for each name instead of a list of ranks.
#include <map>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/ready_list.hpp"

namespace lockstep::horovod {
namespace {

void send_bytes(comm::ProcessGroup& group, const Bytes& bytes, int to) {
  CpuDevice device;
  const Tensor length = empty({1}, DType::int64, device);
  length.data<std::int64_t>()[0] = std::ssize(bytes);
  group.send(length, to);
  const Tensor tensor = empty({std::ssize(bytes)}, DType::uint8, device);
  std::copy(bytes.begin(), bytes.end(), tensor.raw_bytes().begin());
  group.send(tensor, to);
}

Bytes recv_bytes(comm::ProcessGroup& group, int from) {
  CpuDevice device;
  const Tensor length = empty({1}, DType::int64, device);
  group.recv(length, from);
  const Tensor tensor = empty({length.data<std::int64_t>()[0]}, DType::uint8, device);
  group.recv(tensor, from);
  const auto bytes = tensor.raw_bytes();
  return {bytes.begin(), bytes.end()};
}

// Of one name: on how many ranks it is, which one differs from the first, and for how long.
struct Count {
  std::vector<int> have{};
  Request first{}, differs{};
  int differs_on = -1;
  double waited_s = 0;
};

std::vector<Response> answers(const std::vector<ReadyList>& told, double limit_s) {
  std::map<std::string, Count> counts;
  bool all_wait = true, moves = false;
  for (int rank = 0; rank < std::ssize(told); ++rank) {
    const ReadyList& of_rank = told[static_cast<std::size_t>(rank)];
    all_wait = all_wait && of_rank.outlook == Outlook::waits;
    for (const Request& request : of_rank.requests) {
      Count& count = counts[request.name];
      if (count.have.empty()) count.first = request;
      const bool same = count.first.dtype == request.dtype && count.first.shape == request.shape;
      if (!same && count.differs_on < 0) {
        count.differs = request;
        count.differs_on = rank;
      }
      count.have.push_back(rank);
      count.waited_s = std::max(count.waited_s, request.waited_s);
    }
  }
  std::vector<Response> reduced, refused, stalled;
  for (const Request& request : told[0].requests) {
    const Count& count = counts[request.name];
    if (count.have.size() < told.size()) continue;
    moves = true;
    if (count.differs_on < 0) {
      reduced.push_back({request.name});
    } else {
      refused.push_back({request.name, Verdict::refused,
                         why_refused(0, count.first, count.differs_on, count.differs)});
    }
  }
  for (const auto& [name, count] : counts) {
    if (count.have.size() == told.size()) continue;
    if (count.waited_s <= limit_s && (!all_wait || moves)) continue;
    std::vector<int> lack;
    for (int rank = 0; rank < std::ssize(told); ++rank) {
      if (std::find(count.have.begin(), count.have.end(), rank) == count.have.end()) {
        lack.push_back(rank);
      }
    }
    stalled.push_back(
        {name, Verdict::stalled, why_stalled(name, count.have, lack, count.waited_s)});
  }
  for (const auto& more : {refused, stalled}) {
    reduced.insert(reduced.end(), more.begin(), more.end());
  }
  return reduced;
}

}  // namespace

std::vector<Response> negotiate(comm::ProcessGroup& group, std::span<const Request> ready_here,
                                const NegotiateOptions& options) {
  std::vector<ReadyList> told{{options.outlook, {ready_here.begin(), ready_here.end()}}};
  if (group.rank() > 0) {
    send_bytes(group, bytes_of(told[0]), 0);
    return responses_from(recv_bytes(group, 0));
  }
  for (int rank = 1; rank < group.size(); ++rank) {
    told.push_back(ready_list_from(recv_bytes(group, rank)));
  }
  const std::vector<Response> decided = answers(told, options.stall_limit_s);
  for (int rank = 1; rank < group.size(); ++rank) send_bytes(group, bytes_of(decided), rank);
  return decided;
}

}  // namespace lockstep::horovod
