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
// Step b.
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
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)ready_here, (void)options;
  throw NotImplemented("negotiate");
  // <<< your code
}

}  // namespace lockstep::horovod
