// What travels in a round of negotiation, as bytes: what each rank tells rank 0, and the responses.
// Also the sentences that say why a gradient cannot be reduced. bytes_of_ranks.hpp carries the
// bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/parallel/horovod/negotiate.hpp"

namespace lockstep::horovod {

// What one rank tells rank 0.
struct Told {
  Outlook outlook = Outlook::goes_on;
  std::vector<Request> requests = {};
};

Bytes bytes_of(const Told& told);
Bytes bytes_of(const std::vector<Response>& responses);
//   Throws  MalformedMessage
Told told_from(const Bytes& bytes);
std::vector<Response> responses_from(const Bytes& bytes);

// Two ranks have different tensors under one name.
std::string why_refused(int rank, const Request& request, int other, const Request& of_other);

// A gradient that some ranks have and others lack.
//   have, lack  ranks, ascending
//   waited_s    by the rank that has had it the longest
std::string why_stalled(const std::string& name, std::span<const int> have,
                        std::span<const int> lack, double waited_s);

}  // namespace lockstep::horovod
