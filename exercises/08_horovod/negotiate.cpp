// Task: one round of negotiation. Every rank tells rank 0 what is ready there. Rank 0 finds what is
// ready on all ranks, decides in which order it is reduced, what is refused and what has stalled,
// and tells everyone, so that all ranks return the same list. The contract is in
// engine/parallel/horovod/negotiate.hpp. Lists become bytes, and reasons sentences, by
// engine/parallel/horovod/told.hpp; bytes_of_ranks.hpp beside it carries bytes to rank 0 and from
// it.
#include "engine/parallel/horovod/negotiate.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/horovod/bytes_of_ranks.hpp"
#include "engine/parallel/horovod/told.hpp"

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
