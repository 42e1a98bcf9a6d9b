// The messages of a round of negotiation, as bytes: each rank's list for rank 0, and the responses.
// The file also has the sentences that say why a gradient cannot be reduced. bytes_of_ranks.hpp
// carries the bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/parallel/horovod/negotiate.hpp"

namespace lockstep::horovod {

// The gradients that are ready on one rank, as it reports them to rank 0.
struct ReadyList {
  Outlook outlook = Outlook::goes_on;
  std::vector<Request> requests = {};
};

Bytes bytes_of(const ReadyList& list);
Bytes bytes_of(const std::vector<Response>& responses);
//   Throws  MalformedMessage
ReadyList ready_list_from(const Bytes& bytes);
std::vector<Response> responses_from(const Bytes& bytes);

// Says that two ranks have different tensors under one name.
std::string why_refused(int rank, const Request& request, int other, const Request& of_other);

// Says that some ranks have a gradient and others lack it.
//   have, lack  ranks, ascending
//   waited_s    by the rank that has had it the longest
std::string why_stalled(const std::string& name, std::span<const int> have,
                        std::span<const int> lack, double waited_s);

}  // namespace lockstep::horovod
