// Negotiation: the ranks agree on which gradients to reduce now, and in which order. Collectives
// must be called in the same order on every rank, but the ranks' gradients become ready in their
// own orders. DDP fixes the order in advance; Horovod asks. One round:
//
//   a. every rank tells rank 0 which gradients are ready there    rank 0: a b c   rank 1: c a
//   b. rank 0 finds those that are ready on all ranks             a c
//   c. rank 0 tells everyone                                      a, then c; b waits for rank 1
//
// The ranks ask again in the next round for what was not released, so a round needs no memory of
// earlier rounds.
//
// Source: horovod/common/controller.cc, ComputeResponseList and ConstructResponse;
// stall_inspector.cc [HVDSRC]. Horovod sends a name once, and rank 0 keeps the names that wait.
// From the second step on, it sends one bit per name (response_cache.cc).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"

namespace lockstep::horovod {

// A gradient that is ready on this rank.
struct Request {
  std::string name = {};
  DType dtype = DType::float32;
  Shape shape = {};
  double waited_s = 0;  // from when it became ready until this round
};

// The decision about a gradient.
enum class Verdict : std::uint8_t {
  reduce,   // now, at this place in the order
  refused,  // the ranks mean different things by this name
  stalled,  // some ranks have it, and the others will not have it, or not in time
};

struct Response {
  std::string name = {};
  Verdict verdict = Verdict::reduce;
  std::string why = {};  // unless reduce: one sentence with the gradient, the ranks, what differs
  bool operator==(const Response&) const = default;
};

// The next action of this rank.
enum class Outlook : std::uint8_t {
  goes_on,  // more gradients may become ready here, whatever this round says
  waits,    // nothing more becomes ready here until all that is ready now has been reduced
};

struct NegotiateOptions {
  double stall_limit_s = 60;
  Outlook outlook = Outlook::goes_on;
};

// One round. Every rank of the group calls it.
//   ready_here  in the order in which they became ready; each name once
//   Returns     the same list on every rank: what is ready on all ranks, to be reduced, in rank 0's
//               order; then what is refused, then what is stalled, each of these in any order. A
//               name that is in no response goes on waiting
//   Refused     a name that is ready on all ranks, with dtypes or shapes that differ
//   Stalled     a name that is not ready on all ranks, and has waited for longer than the limit on
//               a rank that has it. Or any name that is not ready on all ranks, when all ranks wait
//               and nothing is reduced or refused: no later round could change that
//   Comm        per rank, its requests to rank 0 (gather_bytes): 5 bytes, and for each 25, the
//               length of its name, and 8 for each axis; then the responses from rank 0
//               (broadcast_bytes): 4 bytes, and for each 9 and the length of its name. On one rank
//               nothing
//   Throws      ContractError when a name is twice in ready_here; CommError
std::vector<Response> negotiate(comm::ProcessGroup& group, std::span<const Request> ready_here,
                                const NegotiateOptions& options = {});

}  // namespace lockstep::horovod
