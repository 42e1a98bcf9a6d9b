#include "engine/parallel/zero/unit_plan.hpp"

#include <algorithm>
#include <set>

#include "engine/base/error.hpp"

namespace lockstep::zero {
namespace {

bool gathers(Sharding sharding) {
  return sharding == Sharding::shard_grad_op || sharding == Sharding::full_shard;
}

// Gathers units of one pass in its order, each once, up to K ahead, and fetches them up to 1 + K
// ahead where they lie on the host.
class Ahead {
 public:
  Ahead(const UnitPlan& plan, std::vector<int> order, std::set<int> there)
      : plan_(plan), order_(std::move(order)), there_(there), fetched_(std::move(there)) {}

  // The first fetches of the pass, which an earlier one carries out.
  Actions first_fetches() { return fetches(0, static_cast<std::size_t>(plan_.prefetch)); }

  // The actions before the pass of the unit at `place` of the order.
  Actions before(std::size_t place) {
    const std::size_t last = place + static_cast<std::size_t>(plan_.prefetch);
    Actions actions = fetches(place, last + 1);
    for (std::size_t at = place; at <= last && at < order_.size(); ++at) {
      if (there_.insert(order_[at]).second) actions.push_back({Act::gather, order_[at]});
    }
    actions.push_back({Act::wait, order_[place]});
    return actions;
  }

 private:
  Actions fetches(std::size_t first, std::size_t last) {
    Actions actions;
    for (std::size_t at = first; plan_.fetch && at <= last && at < order_.size(); ++at) {
      if (fetched_.insert(order_[at]).second) actions.push_back({Act::fetch, order_[at]});
    }
    return actions;
  }

  const UnitPlan& plan_;
  std::vector<int> order_;
  std::set<int> there_;    // or on their way
  std::set<int> fetched_;  // or there
};

std::vector<int> forward_order(int units) {
  std::vector<int> order;
  for (int unit = 0; unit < units; ++unit) order.push_back(unit);
  return order;
}

PassPlan empty_pass(int units) {
  const auto count = static_cast<std::size_t>(units);
  return {std::vector<Actions>(count), std::vector<Actions>(count)};
}

// `keeps`: which units stay when their pass is over.
template <typename Keeps>
PassPlan gathered_forward(const UnitPlan& plan, const Keeps& keeps) {
  PassPlan pass = empty_pass(plan.units);
  Ahead ahead(plan, forward_order(plan.units), {});
  for (int unit = 0; unit < plan.units; ++unit) {
    const auto at = static_cast<std::size_t>(unit);
    pass.before[at] = ahead.before(at);
    if (!keeps(unit)) pass.after[at].push_back({Act::free, unit});
  }
  if (plan.root) {
    Actions& first = pass.before.front();
    first.insert(first.begin(), {Act::gather, plan.units});
    if (plan.fetch) first.insert(first.begin(), {Act::fetch, plan.units});
    first.insert(first.end() - 1, {Act::wait, plan.units});
  }
  return pass;
}

// What the first gathers need is fetched in the last forward pass.
PassPlan gathered_backward(UnitPlan& plan, Sharding sharding) {
  PassPlan pass = empty_pass(plan.units);
  std::vector<int> order = forward_order(plan.units);
  std::set<int> there(order.begin(), order.end());
  // The last unit was kept: its backward pass follows its forward pass at once.
  if (sharding == Sharding::full_shard) there = {plan.units - 1};
  std::ranges::reverse(order);
  Ahead ahead(plan, order, there);
  for (const Action& fetch : ahead.first_fetches()) plan.forward.before.back().push_back(fetch);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto at = static_cast<std::size_t>(order[place]);
    pass.before[at] = ahead.before(place);
    pass.after[at].push_back({Act::free, order[place]});
  }
  if (plan.root) pass.after.front().push_back({Act::free, plan.units});
  return pass;
}

// Each unit's reduction starts when its pass is over, and is waited for after the next pass.
void reduce_as_they_come(UnitPlan& plan) {
  for (int unit = plan.units - 1; unit >= 0; --unit) {
    Actions& after = plan.backward.after[static_cast<std::size_t>(unit)];
    after.push_back({Act::reduce, unit});
    if (unit + 1 < plan.units) after.push_back({Act::reduced, unit + 1});
  }
  if (plan.root) plan.after_backward.push_back({Act::reduce, plan.units});
  plan.after_backward.push_back({Act::reduced, 0});
  if (plan.root) plan.after_backward.push_back({Act::reduced, plan.units});
}

void reduce_at_the_end(UnitPlan& plan) {
  const int all = plan.units + (plan.root ? 1 : 0);
  for (int unit = all - 1; unit >= 0; --unit) plan.after_backward.push_back({Act::reduce, unit});
  for (int unit = all - 1; unit >= 0; --unit) plan.after_backward.push_back({Act::reduced, unit});
}

void gather_updated(UnitPlan& plan) {
  const int all = plan.units + (plan.root ? 1 : 0);
  for (int unit = 0; unit < all; ++unit) plan.after_update.push_back({Act::gather, unit});
  for (int unit = 0; unit < all; ++unit) plan.after_update.push_back({Act::wait, unit});
}

}  // namespace

UnitPlan unit_plan(const PlanOptions& options) {
  LOCKSTEP_CHECK(options.units >= 1 && options.prefetch >= 0, "unit_plan: ", options.units,
                 " units, of which ", options.prefetch,
                 " are gathered ahead; a model has a unit, and none is gathered late");
  LOCKSTEP_CHECK(!options.fetch || gathers(options.sharding),
                 "unit_plan: shards are fetched from the host, but parameters are whole on every "
                 "rank; keep them on the device");
  UnitPlan plan{.units = options.units,
                .root = options.root,
                .prefetch = options.prefetch,
                .fetch = options.fetch};
  plan.forward = plan.backward = plan.evaluation = empty_pass(plan.units);
  if (gathers(options.sharding)) {
    const bool full = options.sharding == Sharding::full_shard;
    plan.forward =
        gathered_forward(plan, [&](int unit) { return !full || unit == plan.units - 1; });
    plan.backward = gathered_backward(plan, options.sharding);
    plan.evaluation = gathered_forward(plan, [](int) { return false; });
    if (plan.root) plan.evaluation.after.back().push_back({Act::free, plan.units});
  }
  if (options.sharding == Sharding::zero_1) {
    reduce_at_the_end(plan);
  } else {
    reduce_as_they_come(plan);
  }
  const bool whole = options.sharding == Sharding::zero_1 || options.sharding == Sharding::zero_2;
  if (whole) gather_updated(plan);
  return plan;
}

UnitPlan without_reductions(UnitPlan plan) {
  const auto drop = [](Actions& actions) {
    std::erase_if(actions, [](const Action& action) {
      return action.act == Act::reduce || action.act == Act::reduced;
    });
  };
  for (Actions& actions : plan.backward.after) drop(actions);
  drop(plan.after_backward);
  return plan;
}

namespace {

// Walks a plan and notes what is alive.
struct Walk {
  const UnitPlan& plan;
  Sharding sharding;
  std::set<int> alive{}, arrived{}, fetched{}, reducing{}, reduced{};
  std::string found{};

  void fail(std::string what) {
    if (found.empty()) found = std::move(what);
  }
  void take(const Actions& actions, const std::string& when) {
    for (const Action& action : actions) take(action, when);
    const auto units = std::ssize(alive) - (alive.contains(plan.units) ? 1 : 0);
    const bool limited = sharding == Sharding::full_shard && when != "after the update";
    if (limited && units > 1 + plan.prefetch) {
      fail(text(units, " units are alive ", when, "; with ", plan.prefetch,
                " gathered ahead, there may be ", 1 + plan.prefetch));
    }
  }
  void take(const Action& action, const std::string& when) {
    const int unit = action.unit;
    const std::string where = text("unit ", unit, " ", when);
    switch (action.act) {
      case Act::fetch:
        if (!fetched.insert(unit).second) fail(where + " is fetched a second time");
        break;
      case Act::gather:
        if (plan.fetch && fetched.erase(unit) == 0) {
          fail(where + " is gathered, though its shard is on the host");
        }
        if (!alive.insert(unit).second) fail(where + " is gathered, though it is there");
        break;
      case Act::wait:
        if (!alive.contains(unit)) fail(where + " is waited for, though nobody gathers it");
        arrived.insert(unit);
        break;
      case Act::free:
        if (!arrived.contains(unit)) fail(where + " is freed, though it is not there");
        alive.erase(unit), arrived.erase(unit);
        break;
      case Act::reduce:
        if (!reducing.insert(unit).second) fail(where + " is reduced a second time");
        break;
      case Act::reduced:
        if (!reducing.contains(unit)) fail(where + " is waited for, though it is not reduced");
        reduced.insert(unit);
        break;
    }
  }
  enum class Way : std::uint8_t { forward, backward };
  void pass(const PassPlan& passes, Way way, const std::string& name) {
    for (int k = 0; k < plan.units; ++k) {
      const int unit = way == Way::backward ? plan.units - 1 - k : k;
      const auto at = static_cast<std::size_t>(unit);
      const std::string of_unit = text(name, " of unit ", unit);
      take(passes.before[at], "before the " + of_unit);
      if (gathers(sharding) && !arrived.contains(unit)) fail("the " + of_unit + " has no values");
      if (gathers(sharding) && plan.root && !arrived.contains(plan.units)) {
        fail("the " + of_unit + " lacks the root");
      }
      take(passes.after[at], "after the " + of_unit);
    }
  }
};

}  // namespace

std::string broken(const UnitPlan& plan, Sharding sharding) {
  Walk walk{plan, sharding};
  walk.pass(plan.forward, Walk::Way::forward, "forward pass");
  walk.pass(plan.backward, Walk::Way::backward, "backward pass");
  walk.take(plan.after_backward, "after backward");
  const int all = plan.units + (plan.root ? 1 : 0);
  if (std::ssize(walk.reduced) != all) walk.fail("not every unit's gradients are reduced");
  if (!walk.alive.empty()) walk.fail(text("unit ", *walk.alive.begin(), " is never freed"));
  if (!walk.fetched.empty()) {
    walk.fail(text("unit ", *walk.fetched.begin(), " is fetched, and never gathered"));
  }
  Walk evaluation{plan, sharding};
  evaluation.pass(plan.evaluation, Walk::Way::forward, "evaluation");
  if (!evaluation.alive.empty()) evaluation.fail("an evaluation leaves units gathered");
  return walk.found.empty() ? evaluation.found : walk.found;
}

namespace {

// Elements of all shards that the actions of a step with these kinds concern.
std::int64_t shards_of(const UnitPlan& plan, const std::set<Act>& acts,
                       const std::vector<std::int64_t>& counts, int ranks) {
  std::int64_t sum = 0;
  const auto add = [&](const Actions& actions) {
    for (const auto& [act, unit] : actions) {
      if (acts.contains(act)) sum += counts.at(static_cast<std::size_t>(unit)) / ranks;
    }
  };
  for (const PassPlan* pass : {&plan.forward, &plan.backward}) {
    for (const Actions& actions : pass->before) add(actions);
    for (const Actions& actions : pass->after) add(actions);
  }
  add(plan.after_backward);
  add(plan.after_update);
  return sum;
}

}  // namespace

std::int64_t elements_sent(const UnitPlan& plan, const std::vector<std::int64_t>& counts,
                           int ranks) {
  return shards_of(plan, {Act::gather, Act::reduce}, counts, ranks) * (ranks - 1);
}

std::int64_t elements_fetched(const UnitPlan& plan, const std::vector<std::int64_t>& counts,
                              int ranks) {
  return shards_of(plan, {Act::fetch}, counts, ranks);
}

}  // namespace lockstep::zero
