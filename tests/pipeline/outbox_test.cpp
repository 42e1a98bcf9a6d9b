// What travels between stages, by the plan alone.
#include "engine/parallel/pipeline/outbox.hpp"

#include <map>

#include "engine/parallel/pipeline/plan.hpp"
#include "tests/catch.hpp"

using namespace lockstep::pipeline;

namespace {

struct Ends {
  int made = 0, needed = 0;
};

void check_parcels(const Plan& plan) {
  std::map<int, Ends> parcels;  // by tag
  for (int stage = 0; stage < plan.stages; ++stage) {
    const auto& actions = plan.actions[static_cast<std::size_t>(stage)];
    for (std::size_t k = 0; k < actions.size(); ++k) {
      if (const auto made = made_by(plan, stage, actions[k])) {
        CHECK(made->src == stage);
        CHECK(made->made_at == k);
        ++parcels[made->tag].made;
        const auto& there = plan.actions[static_cast<std::size_t>(made->dst)];
        const auto needed = needed_by(plan, made->dst, there.at(made->needed_at));
        REQUIRE(needed);
        CHECK(needed->tag == made->tag);
        CHECK(needed->src == stage);
      }
      if (const auto needed = needed_by(plan, stage, actions[k])) {
        CHECK(needed->dst == stage);
        CHECK(needed->needed_at == k);
        ++parcels[needed->tag].needed;
      }
    }
  }
  const int boundaries = plan.stages * plan.chunks - 1;
  CHECK(std::ssize(parcels) == 2 * boundaries * plan.micro_batches);
  for (const auto& [tag, ends] : parcels) {
    CHECK(ends.made == 1);
    CHECK(ends.needed == 1);
  }
}

}  // namespace

TEST_CASE("outbox: each parcel of a plan is made once and needed once, under a tag of its own") {
  for (const int stages : {1, 2, 3, 5, 8}) {
    for (const int micro_batches : {1, 2, 7}) {
      check_parcels(make_plan(Schedule::gpipe, stages, 1, micro_batches));
      check_parcels(make_plan(Schedule::one_f_one_b, stages, 1, micro_batches));
      check_parcels(make_plan(Schedule::zero_bubble, stages, 1, micro_batches));
    }
    for (const int chunks : {2, 3}) {
      check_parcels(make_plan(Schedule::interleaved, stages, chunks, 2 * stages));
    }
  }
}
