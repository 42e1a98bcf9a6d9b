// Does not wait for the unit that was kept, and waits for a unit before the next gather is started,
// which the queue carries out behind it anyway.
#include "engine/base/error.hpp"
#include "engine/parallel/zero/prefetch_plan.hpp"

namespace lockstep::zero {

Actions forward_order(int units, int limit) {
  LOCKSTEP_CHECK(units > 0 && limit > 0, units, " units, room for ", limit);
  Actions actions{{Act::gather, 0}};
  int gathered = 1;
  for (int unit = 0; unit < units; ++unit) {
    if (unit > 0 && gathered == unit) actions.push_back({Act::gather, gathered++});
    actions.push_back({Act::wait, unit});
    for (; gathered < units && gathered - unit < limit; ++gathered) {
      actions.push_back({Act::gather, gathered});
    }
    actions.push_back({Act::run, unit});
    if (unit + 1 < units) actions.push_back({Act::free, unit});
  }
  return actions;
}

Actions backward_order(int units, int limit) {
  LOCKSTEP_CHECK(units > 0 && limit > 0, units, " units, room for ", limit);
  Actions actions;
  int gathered = units - 1;  // and all behind it
  for (int unit = units - 1; unit >= 0; --unit) {
    for (; gathered > 0 && unit - gathered + 2 <= limit; --gathered) {
      actions.push_back({Act::gather, gathered - 1});
    }
    if (unit < units - 1) actions.push_back({Act::wait, unit});
    actions.push_back({Act::run, unit});
    actions.push_back({Act::free, unit});
  }
  return actions;
}

}  // namespace lockstep::zero
