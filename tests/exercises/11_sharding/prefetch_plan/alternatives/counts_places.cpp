// Keeps count of free places, and fills them before each pass. Both directions are one function.
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/prefetch_plan.hpp"

namespace lockstep::zero {

namespace {

Actions pass(const std::vector<int>& order, int limit, bool first_is_there) {
  LOCKSTEP_CHECK(!order.empty() && limit >= 1, "no pass");
  Actions actions;
  std::size_t next = first_is_there ? 1 : 0;
  int places = first_is_there ? limit - 1 : limit;
  for (const int unit : order) {
    while (places > 0 && next < order.size()) {
      actions.push_back({Act::gather, order[next++]});
      --places;
    }
    actions.push_back({Act::wait, unit});
    actions.push_back({Act::run, unit});
    if (!first_is_there && unit == order.back()) break;
    actions.push_back({Act::free, unit});
    ++places;
  }
  return actions;
}

}  // namespace

Actions forward_order(int units, int limit) {
  std::vector<int> order;
  for (int unit = 0; unit < units; ++unit) order.push_back(unit);
  return pass(order, limit, false);
}

Actions backward_order(int units, int limit) {
  std::vector<int> order;
  for (int unit = units; unit > 0; --unit) order.push_back(unit - 1);
  return pass(order, limit, true);
}

}  // namespace lockstep::zero
