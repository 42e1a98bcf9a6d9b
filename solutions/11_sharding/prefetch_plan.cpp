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
  Actions actions;
  for (int unit = 0; unit < std::min(units, limit); ++unit) actions.push_back({Act::gather, unit});
  for (int unit = 0; unit < units; ++unit) {
    actions.push_back({Act::wait, unit});
    actions.push_back({Act::run, unit});
    if (unit == units - 1) break;  // it stays
    actions.push_back({Act::free, unit});
    if (limit < units - unit) actions.push_back({Act::gather, unit + limit});
  }
  return actions;
  // <<< your code
}

Actions backward_order(int units, int limit) {
  check_order("backward_order", units, limit);
  // >>> your code
  Actions actions;
  const int last = units - 1;  // is there, and takes a place
  for (int unit = last - 1; unit >= std::max(0, units - limit); --unit) {
    actions.push_back({Act::gather, unit});
  }
  for (int unit = last; unit >= 0; --unit) {
    actions.push_back({Act::wait, unit});
    actions.push_back({Act::run, unit});
    actions.push_back({Act::free, unit});
    if (limit <= unit) actions.push_back({Act::gather, unit - limit});
  }
  return actions;
  // <<< your code
}

}  // namespace lockstep::zero
