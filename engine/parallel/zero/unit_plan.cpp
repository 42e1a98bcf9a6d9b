#include "engine/parallel/zero/unit_plan.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::zero {
namespace {

bool gathers(Sharding sharding) {
  return sharding == Sharding::shard_grad_op || sharding == Sharding::full_shard;
}

PassPlan empty_pass(int units) {
  const auto count = static_cast<std::size_t>(units);
  return {std::vector<Actions>(count), std::vector<Actions>(count)};
}

// The actions of a pass, by the unit that runs behind or before them: what is freed goes at once,
// and the rest waits for the next unit. `kept` says what a pass that gathers less leaves out.
PassPlan laid_out(int units, const Actions& order, const auto& kept) {
  PassPlan pass = empty_pass(units);
  Actions between;
  std::optional<std::size_t> ran;
  for (const Action& action : order) {
    if (action.act == Act::run) {
      pass.before[static_cast<std::size_t>(action.unit)] = std::exchange(between, {});
      ran = static_cast<std::size_t>(action.unit);
    } else if (kept(action)) {
      between.push_back(action);
    }
    if (action.act == Act::free && ran && kept(action)) {
      Actions& after = pass.after[*ran];
      after.insert(after.end(), between.begin(), between.end());
      between.clear();
    }
  }
  return pass;
}

// The root is there from before the first pass on.
void gather_root_first(const UnitPlan& plan, PassPlan& pass) {
  if (!plan.root) return;
  Actions& first = pass.before.front();
  first.insert(first.begin(), {Act::gather, plan.units});
  first.insert(first.end() - 1, {Act::wait, plan.units});
}

// Parameters that come and go: as many units are alive as are gathered ahead, and the one that
// runs. From forward to backward, shard_grad_op keeps them all.
void gather_for_passes(UnitPlan& plan, Sharding sharding) {
  const bool full = sharding == Sharding::full_shard;
  const int limit = plan.prefetch < plan.units ? plan.prefetch + 1 : plan.units;
  const Actions forward = forward_order(plan.units, limit);
  const auto all = [](const Action&) { return true; };
  plan.forward = laid_out(plan.units, forward,
                          [&](const Action& action) { return full || action.act != Act::free; });
  plan.backward = laid_out(plan.units, backward_order(plan.units, limit),
                           [&](const Action& action) { return full || action.act != Act::gather; });
  plan.evaluation = laid_out(plan.units, forward, all);
  plan.evaluation.after.back().push_back({Act::free, plan.units - 1});
  gather_root_first(plan, plan.forward);
  gather_root_first(plan, plan.evaluation);
  if (!plan.root) return;
  plan.backward.after.front().push_back({Act::free, plan.units});
  plan.evaluation.after.back().push_back({Act::free, plan.units});
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
  UnitPlan plan{.units = options.units, .root = options.root, .prefetch = options.prefetch};
  plan.forward = plan.backward = plan.evaluation = empty_pass(plan.units);
  if (gathers(options.sharding)) gather_for_passes(plan, options.sharding);
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
  std::set<int> alive{}, arrived{}, reducing{}, reduced{};
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
      case Act::gather:
        if (!alive.insert(unit).second) fail(where + " is gathered, though it is there");
        break;
      case Act::wait:
        if (!alive.contains(unit)) fail(where + " is waited for, though nobody gathers it");
        arrived.insert(unit);
        break;
      case Act::run:  // its place is between the lists
        fail(where + " is run by the plan, which only stands around the passes");
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
  Walk evaluation{plan, sharding};
  evaluation.pass(plan.evaluation, Walk::Way::forward, "evaluation");
  if (!evaluation.alive.empty()) evaluation.fail("an evaluation leaves units gathered");
  return walk.found.empty() ? evaluation.found : walk.found;
}

std::int64_t elements_sent(const UnitPlan& plan, const std::vector<std::int64_t>& counts,
                           int ranks) {
  std::int64_t sent = 0;
  const auto add = [&](const Actions& actions) {
    for (const auto& [act, unit] : actions) {
      if (act != Act::gather && act != Act::reduce) continue;
      sent += counts.at(static_cast<std::size_t>(unit)) / ranks * (ranks - 1);
    }
  };
  for (const PassPlan* pass : {&plan.forward, &plan.backward}) {
    for (const Actions& actions : pass->before) add(actions);
    for (const Actions& actions : pass->after) add(actions);
  }
  add(plan.after_backward);
  add(plan.after_update);
  return sent;
}

}  // namespace lockstep::zero
