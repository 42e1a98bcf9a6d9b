// The order in which units are gathered, freed and reduced: what it keeps, and what breaks it.
#include "engine/parallel/zero/unit_plan.hpp"

#include <functional>
#include <vector>

#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using zero::Act;
using zero::Action;
using zero::Sharding;
using zero::unit_plan;
using zero::UnitPlan;
using zero::without_reductions;

namespace {

constexpr Sharding all_shardings[] = {Sharding::no_shard, Sharding::zero_1, Sharding::zero_2,
                                      Sharding::shard_grad_op, Sharding::full_shard};

int count(const UnitPlan& plan, Act act) {
  int found = 0;
  const auto add = [&](const zero::Actions& actions) {
    for (const Action& action : actions) found += action.act == act ? 1 : 0;
  };
  for (const auto* pass : {&plan.forward, &plan.backward}) {
    for (const auto& actions : pass->before) add(actions);
    for (const auto& actions : pass->after) add(actions);
  }
  add(plan.after_backward);
  add(plan.after_update);
  return found;
}

}  // namespace

TEST_CASE("unit plan: no plan breaks its invariants, however many units are gathered ahead") {
  for (const Sharding sharding : all_shardings) {
    for (const int units : {1, 2, 3, 7}) {
      for (const int prefetch : {0, 1, 2, 9}) {
        for (const bool root : {false, true}) {
          CAPTURE(static_cast<int>(sharding), units, prefetch, root);
          CHECK(broken(unit_plan({sharding, units, root, prefetch}), sharding) == "");
        }
      }
    }
  }
}

TEST_CASE("unit plan: of a shard on the host, each gather has a fetch, one pass earlier") {
  for (const Sharding sharding : {Sharding::shard_grad_op, Sharding::full_shard}) {
    for (const int units : {1, 2, 3, 7}) {
      for (const int prefetch : {0, 1, 2, 9}) {
        for (const bool root : {false, true}) {
          CAPTURE(static_cast<int>(sharding), units, prefetch, root);
          const UnitPlan plan = unit_plan({sharding, units, root, prefetch, true});
          CHECK(broken(plan, sharding) == "");
          CHECK(count(plan, Act::fetch) == count(plan, Act::gather));
          const std::vector<std::int64_t> counts(static_cast<std::size_t>(units) + 1, 12);
          const int gathers = count(plan, Act::gather);
          CHECK(elements_fetched(plan, counts, 4) == 3 * gathers);
        }
      }
    }
  }
  using Actions = zero::Actions;
  const UnitPlan plan = unit_plan({Sharding::full_shard, 3, false, 0, true});
  CHECK(plan.forward.before[0] ==
        Actions{{Act::fetch, 0}, {Act::fetch, 1}, {Act::gather, 0}, {Act::wait, 0}});
  CHECK(plan.forward.before[2] == Actions{{Act::gather, 2}, {Act::wait, 2}});
  CHECK(plan.backward.before[2] == Actions{{Act::fetch, 1}, {Act::wait, 2}});
  CHECK(plan.backward.before[1] == Actions{{Act::fetch, 0}, {Act::gather, 1}, {Act::wait, 1}});
  const UnitPlan ahead = unit_plan({Sharding::full_shard, 3, false, 1, true});
  CHECK(ahead.forward.before[2] == Actions{{Act::wait, 2}, {Act::fetch, 1}});
  CHECK(ahead.backward.before[2] == Actions{{Act::fetch, 0}, {Act::gather, 1}, {Act::wait, 2}});
}

TEST_CASE("unit plan: a shard that is not fetched, or fetched for nothing, is told") {
  const auto mistaken = [](const std::function<void(UnitPlan&)>& change) {
    UnitPlan plan = unit_plan({Sharding::full_shard, 3, false, 0, true});
    change(plan);
    return broken(plan, Sharding::full_shard);
  };
  CHECK_THAT(mistaken([](UnitPlan& plan) {
               std::erase(plan.backward.before[1], zero::Action{Act::fetch, 0});
             }),
             contains("unit 0 before the backward pass of unit 0 is gathered, though its shard"));
  CHECK_THAT(mistaken([](UnitPlan& plan) {
               plan.forward.before[1].push_back({Act::fetch, 2});
             }),
             contains("unit 2 before the forward pass of unit 1 is fetched a second time"));
  CHECK_THAT(mistaken([](UnitPlan& plan) {
               plan.backward.before[0].push_back({Act::fetch, 0});
             }),
             contains("unit 0 is fetched, and never gathered"));
  CHECK_THROWS_WITH(unit_plan({Sharding::zero_2, 2, false, 0, true}),
                    contains("parameters are whole on every rank"));
}

TEST_CASE("unit plan: units are gathered as often as FSDP gathers them") {
  const auto gathers = [](Sharding sharding, int units) {
    return count(unit_plan({sharding, units, false, 1}), Act::gather);
  };
  CHECK(gathers(Sharding::no_shard, 5) == 0);
  CHECK(gathers(Sharding::zero_2, 5) == 5);
  CHECK(gathers(Sharding::shard_grad_op, 5) == 5);
  CHECK(gathers(Sharding::full_shard, 5) == 5 + 4);  // the last stays for its backward pass
  for (const Sharding sharding : all_shardings) {
    CHECK(count(unit_plan({sharding, 5, true, 1}), Act::reduce) == 6);
    CHECK(count(without_reductions(unit_plan({sharding, 5, true, 1})), Act::reduce) == 0);
  }
}

TEST_CASE("unit plan: ahead means in the order of the pass, backward from the last unit on") {
  const UnitPlan plan = unit_plan({Sharding::full_shard, 3, false, 1});
  using Actions = zero::Actions;
  CHECK(plan.forward.before[0] == Actions{{Act::gather, 0}, {Act::gather, 1}, {Act::wait, 0}});
  CHECK(plan.forward.before[1] == Actions{{Act::gather, 2}, {Act::wait, 1}});
  CHECK(plan.forward.after[1] == Actions{{Act::free, 1}});
  CHECK(plan.forward.after[2].empty());
  CHECK(plan.backward.before[2] == Actions{{Act::gather, 1}, {Act::wait, 2}});
  CHECK(plan.backward.before[1] == Actions{{Act::gather, 0}, {Act::wait, 1}});
  CHECK(plan.backward.after[1] == Actions{{Act::free, 1}, {Act::reduce, 1}, {Act::reduced, 2}});
}

TEST_CASE("unit plan: a plan with a mistake is told with the unit and the pass") {
  const auto mistaken = [](const std::function<void(UnitPlan&)>& change) {
    UnitPlan plan = unit_plan({Sharding::full_shard, 3, false, 1});
    change(plan);
    return broken(plan, Sharding::full_shard);
  };
  CHECK_THAT(mistaken([](UnitPlan& plan) { plan.forward.after[1].clear(); }),
             contains("unit 1 before the backward pass of unit 2 is gathered, though it is there"));
  CHECK_THAT(mistaken([](UnitPlan& plan) {
               plan.backward.before[1] = {{Act::gather, 0}};
             }),
             contains("the backward pass of unit 1 has no values"));
  CHECK_THAT(mistaken([](UnitPlan& plan) {
               plan.forward.before[0].insert(plan.forward.before[0].begin(), {Act::gather, 2});
               plan.forward.before[1] = {{Act::wait, 1}};
             }),
             contains("3 units are alive before the forward pass of unit 0"));
  CHECK_THAT(mistaken([](UnitPlan& plan) { plan.backward.after[0].clear(); }),
             contains("unit 0 after backward is waited for, though it is not reduced"));
  CHECK_THAT(mistaken([](UnitPlan& plan) { plan = without_reductions(plan); }),
             contains("not every unit's gradients are reduced"));
}

TEST_CASE("unit plan: a step sends 2 or 3 times (N-1)/N of the parameters") {
  const std::vector<std::int64_t> counts = {8, 40, 16};
  const auto sent = [&](Sharding sharding) {
    return elements_sent(unit_plan({sharding, 3, false, 1}), counts, 4);
  };
  CHECK(sent(Sharding::zero_1) == 2 * 64 * 3 / 4);
  CHECK(sent(Sharding::zero_2) == 2 * 64 * 3 / 4);
  CHECK(sent(Sharding::shard_grad_op) == 2 * 64 * 3 / 4);
  CHECK(sent(Sharding::full_shard) == (3 * 64 - 16) * 3 / 4);
}

TEST_CASE("unit plan: no unit, or a negative number ahead, is refused") {
  CHECK_THROWS_WITH(unit_plan({Sharding::zero_1, 0, false, 0}), contains("a model has a unit"));
  CHECK_THROWS_WITH(unit_plan({Sharding::zero_1, 1, false, -1}), contains("none is gathered late"));
}
