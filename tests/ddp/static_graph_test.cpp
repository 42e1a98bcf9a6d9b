// A graph that does not change: what the first pass leaves unused is unused in all.
#include <cmath>

#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using lockstep::test::errors_on_ranks;
using lockstep::test::message_of;
using lockstep::test::on_ranks;
using lockstep::test::pass;
using lockstep::test::small_buckets;
using lockstep::test::Sums;

namespace {

using Sets = std::vector<std::size_t>;

// Parameter 1 is used on the last rank only, parameter 3 nowhere.
Sets used_on(int rank, int ranks) { return rank + 1 == ranks ? Sets{0, 1, 2} : Sets{0, 2}; }

}  // namespace

TEST_CASE("ddp static graph: sums are divided by all ranks, and what none uses stays without") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  on_ranks(ranks, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2, 1, 3, 4}, device);
    model.used = used_on(group.rank(), group.size());
    ddp::Ddp wrapped(model, group, small_buckets(ddp::Unused::fixed));
    for (int k = 0; k < 4; ++k) {
      model.zero_grad();
      pass(wrapped, group.rank() + 1, device);
      LOCKSTEP_EXPECT(model.grad(0) == Approx((group.size() + 1) / 2.0).epsilon(1e-15));
      LOCKSTEP_EXPECT(model.grad(1) == Approx(1).epsilon(1e-15));
      LOCKSTEP_EXPECT(model.grad(2) == model.grad(0));
      LOCKSTEP_EXPECT(!model.has_grad(3));
    }
  });
}

TEST_CASE(
    "ddp static graph: buckets follow the order of gradients, which --find-unused keeps from") {
  const auto buckets = [](ddp::Unused unused) {
    std::vector<std::vector<std::size_t>> plan;
    on_ranks(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      Sums model({1, 1, 1, 1}, device);
      model.used = {2, 0, 3};  // gradients come as 3, 0, 2
      ddp::Ddp wrapped(model, group, small_buckets(unused));
      for (int k = 0; k < 2; ++k) pass(wrapped, 1, device);
      if (group.rank() == 0) plan = wrapped.plan().buckets;
    });
    return plan;
  };
  using Plan = std::vector<std::vector<std::size_t>>;
  CHECK(buckets(ddp::Unused::fixed) == Plan{{1}, {3, 0}, {2}});
  CHECK(buckets(ddp::Unused::reduce) == Plan{{3}, {1, 2}, {0}});
}

TEST_CASE("ddp static graph: a gradient that waits stays bit for bit while nobody uses it") {
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 1}, device);
    ddp::Ddp wrapped(model, group, small_buckets(ddp::Unused::fixed));
    const double x = 0.1 * (group.rank() + 1);
    {
      const auto alone = wrapped.no_sync();
      pass(wrapped, x, device);
    }
    model.used = {0};
    for (int k = 0; k < 3; ++k) {
      pass(wrapped, x, device);
      LOCKSTEP_EXPECT(model.grad(1) == x);
    }
  });
}

TEST_CASE("ddp static graph: weight decay does not move what no rank used") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 1}, device);
    ddp::Ddp wrapped(model, group, small_buckets(ddp::Unused::fixed));
    const auto optimizer =
        optim::make_sgd(model.parameters(), {.learning_rate = 0.5, .weight_decay = 0.5});
    model.used = {1};
    for (int k = 0; k < 3; ++k) {
      optimizer->zero_grad();
      pass(wrapped, 1, device);
      optimizer->step();
    }
    LOCKSTEP_EXPECT(model.all[0].value.item() == 1);
    LOCKSTEP_EXPECT(model.all[1].value.item() < 0.5);
  });
}

TEST_CASE("ddp static graph: a change is an error on every rank, in the pass that changed") {
  const int ranks = GENERATE(1, 2, 3);
  const int changes = GENERATE(0, 1);
  const bool more = GENERATE(false, true);  // uses a parameter more than before, or fewer
  if (changes >= ranks) return;
  const auto errors = errors_on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2, 3}, device);
    model.used = {0, 1};
    ddp::Ddp wrapped(model, group, small_buckets(ddp::Unused::fixed));
    for (int k = 0; k < 2; ++k) pass(wrapped, 1, device);
    if (group.rank() == changes) model.used = more ? Sets{0, 1, 2} : Sets{0};
    const std::string error = message_of([&] { pass(wrapped, 1, device); });
    model.used = {0, 1};  // the group is well, and the next pass is as any other
    model.zero_grad();
    pass(wrapped, group.rank() + 1, device);
    LOCKSTEP_EXPECT(model.grad(1) == Approx((group.size() + 1) / 2.0).epsilon(1e-15));
    LOCKSTEP_EXPECT(!model.has_grad(2));
    throw Error(error);
  });
  for (const std::string& error : errors) {
    CHECK(error == errors[0]);
    CHECK_THAT(error, contains(text("in step 3, parameter ", more ? "p2" : "p1",
                                    " is not used as in step 1 on rank ", changes)) &&
                          contains("--find-unused"));
  }
}

TEST_CASE("ddp static graph: a rank cannot shadow a pass") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1}, device);
    ddp::Options options = small_buckets(ddp::Unused::fixed);
    options.inputs = ddp::Inputs::uneven;
    ddp::Ddp wrapped(model, group, options);
    LOCKSTEP_EXPECT(message_of([&] { wrapped.shadow(); }).find("--static-graph") !=
                    std::string::npos);
  });
}
