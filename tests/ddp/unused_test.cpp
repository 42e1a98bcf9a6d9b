// Parameters that a pass does not reach.
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
using lockstep::test::Sums;

namespace {

ddp::Options reducing() {
  ddp::Options options;
  options.unused = ddp::Unused::reduce;
  options.limits = {1, 1};
  return options;
}

}  // namespace

TEST_CASE("ddp: a parameter without gradient is an error on every rank, wherever it lacks") {
  const int ranks = GENERATE(1, 2, 3);
  const int lazy = GENERATE(0, 1);
  if (lazy >= ranks) return;
  const auto errors = errors_on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2, 3}, device);
    ddp::Ddp wrapped(model, group);
    pass(wrapped, 1, device);
    if (group.rank() == lazy) model.used = {0};
    pass(wrapped, 1, device);
  });
  for (const std::string& error : errors) {
    LOCKSTEP_EXPECT(error == errors[0]);
    CHECK_THAT(error, contains(text("parameter p1 got no gradient in step 2 on rank ", lazy)) &&
                          contains("nor did 1 more there") && contains("--find-unused"));
  }
}

TEST_CASE("ddp: the group is well after that error, and the next pass is as any other") {
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2}, device);
    ddp::Ddp wrapped(model, group);
    if (group.rank() == 2) model.used = {1};
    const std::string error = message_of([&] { pass(wrapped, 1, device); });
    LOCKSTEP_EXPECT(error.find("parameter p0 got no gradient in step 1 on rank 2") !=
                    std::string::npos);
    model.used = {0, 1};
    for (int k = 0; k < 3; ++k) {
      model.zero_grad();
      pass(wrapped, group.rank() + 1, device);
      LOCKSTEP_EXPECT(model.grad(0) == Approx(2).epsilon(1e-15));
    }
  });
}

TEST_CASE("ddp: what some ranks use is summed and divided by all, what none uses stays without") {
  const int ranks = GENERATE(1, 2, 3, 4, 5);
  on_ranks(ranks, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2, 1, 3, 1}, device);
    ddp::Ddp wrapped(model, group, reducing());
    for (int k = 0; k < 4; ++k) {  // the sets change from pass to pass
      model.zero_grad();
      const int user = k % group.size();
      model.used =
          group.rank() == user ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{0};
      pass(wrapped, group.rank() + 1, device);
      LOCKSTEP_EXPECT(model.grad(0) == Approx((group.size() + 1) / 2.0).epsilon(1e-15));
      LOCKSTEP_EXPECT(!model.has_grad(1));
      LOCKSTEP_EXPECT(model.grad(2) == Approx((user + 1.0) / group.size()).epsilon(1e-15));
      LOCKSTEP_EXPECT(!model.has_grad(3));
    }
  });
}

TEST_CASE("ddp: a gradient that waits for its pass stays as it is while nobody uses it") {
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 1}, device);
    ddp::Ddp wrapped(model, group, reducing());
    const double x = 0.1 * (group.rank() + 1);
    {
      const auto alone = wrapped.no_sync();
      pass(wrapped, x, device);
    }
    model.used = {0};
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(0) == Approx(0.4).epsilon(1e-15));
    LOCKSTEP_EXPECT(model.grad(1) == x);  // the very bits

    // One rank uses it again: what the others had kept travels along.
    if (group.rank() == 1) model.used = {0, 1};
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(1) == Approx((0.6 + 0.2) / 3).epsilon(1e-15));
    const double reduced = model.grad(1);
    model.used = {0};
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(1) == reduced);
  });
}

TEST_CASE("ddp: weight decay does not move what no rank used") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 1}, device);
    ddp::Ddp wrapped(model, group, reducing());
    const auto optimizer =
        optim::make_sgd(model.parameters(), {.learning_rate = 0.5, .weight_decay = 0.5});
    model.used = {1};
    for (int k = 0; k < 2; ++k) {
      optimizer->zero_grad();
      pass(wrapped, 1, device);
      optimizer->step();
    }
    LOCKSTEP_EXPECT(model.all[0].value.item() == 1);
    LOCKSTEP_EXPECT(model.all[1].value.item() < 0.5);
  });
}
