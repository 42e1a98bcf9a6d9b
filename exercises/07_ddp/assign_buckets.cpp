// Task: decide which gradients travel together. Walk through the parameters in the order in which
// their gradients are expected, and put each one into the open bucket of its kind: its dtype on its
// device. A bucket is closed as soon as its bytes reach its limit, and the next parameter of that
// kind opens a new one. The plan lists the buckets in the order in which they closed; buckets that
// are still open at the end follow. The contract is in engine/parallel/ddp/assign_buckets.hpp.
#include "engine/parallel/ddp/assign_buckets.hpp"

#include <algorithm>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::ddp {

collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits) {
  LOCKSTEP_CHECK(limits.first_bytes >= 0 && limits.cap_bytes >= 0, "assign_buckets: limits of ",
                 limits.first_bytes, " and ", limits.cap_bytes, " bytes; none can be negative");
  for (std::size_t i = 0; i < in_ready_order.size(); ++i) {
    LOCKSTEP_CHECK(in_ready_order[i].count >= 0, "assign_buckets: parameter ", i, " has ",
                   in_ready_order[i].count, " elements; a count cannot be negative");
  }
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)in_ready_order, (void)limits;
  throw NotImplemented("assign_buckets");
  // <<< your code
}

}  // namespace lockstep::ddp
