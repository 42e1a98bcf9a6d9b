// Task: list when a pass gathers its units, runs them and frees them, so that parameters arrive
// while other units run, and no more units are alive than there is room for. The contract is in
// engine/parallel/zero/prefetch_plan.hpp.
#include "engine/parallel/zero/prefetch_plan.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::zero {
namespace {

void check_order(const char* name, int units, int limit) {
  LOCKSTEP_CHECK(units >= 1, name, ": ", units, " units; a model has at least one");
  LOCKSTEP_CHECK(limit >= 1, name, ": room for ", limit, " units; the one that runs needs a place");
}

}  // namespace

Actions forward_order(int units, int limit) {
  check_order("forward_order", units, limit);
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)units, (void)limit;
  throw NotImplemented("prefetch_plan");
  // <<< your code
}

Actions backward_order(int units, int limit) {
  check_order("backward_order", units, limit);
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)units, (void)limit;
  throw NotImplemented("prefetch_plan");
  // <<< your code
}

}  // namespace lockstep::zero
