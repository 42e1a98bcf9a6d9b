// Passes on processes over Gloo, one of which dies.
#include <signal.h>
#include <unistd.h>

#include <cmath>

#include "engine/base/bytes.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::pass;
using lockstep::test::small_buckets;
using lockstep::test::Sums;

TEST_CASE("ddp on Gloo: replicas on processes end with the same bits, and time is told") {
  const auto outcomes = test::run_gloo(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({100'000, 10, 50'000}, device);
    ddp::Ddp wrapped(model, group, small_buckets());
    for (int k = 0; k < 3; ++k) {
      model.zero_grad();
      pass(wrapped, 0.1 * (group.rank() + 1), device);
    }
    const collectives::Communication seen = wrapped.communication();
    test::expect(seen.total_s > 0 && seen.exposed_s >= 0 && seen.exposed_s <= seen.total_s,
                 text("ran ", seen.total_s, " s, of which exposed ", seen.exposed_s));
    return text(checksum_of(model.all[0].grad.raw_bytes()), " ",
                checksum_of(model.all[2].grad.raw_bytes()));
  });
  CHECK(test::failures(outcomes) == "");
  CHECK(outcomes[1].message == outcomes[0].message);
  CHECK(outcomes[2].message == outcomes[0].message);
}

TEST_CASE("ddp on Gloo: the mean of 2, 3 and 4 in float32 is 3.000000238, as PyTorch says") {
  // 2/3 + (3/3 + 4/3), each rounded; after a division behind the sum it would be 3.
  const auto outcomes = test::run_gloo(3, [](comm::ProcessGroup& group) -> std::string {
    CpuDevice device;
    Sums model({1}, device, DType::float32);
    ddp::Ddp wrapped(model, group);
    Tape tape(GradMode::record);
    const Tensor x = full({1}, group.rank() + 2, DType::float32, device);
    tape.backward(wrapped.forward(tape, tape.constant(x)));
    const double mean = model.grad(0);
    test::expect(mean == static_cast<double>(std::nextafterf(3, 4)), text("the mean is ", mean));
    return "";
  });
  CHECK(test::failures(outcomes) == "");
}

TEST_CASE("ddp on Gloo: gradients have the bits of those that a hook scaled by 1/N and summed") {
  struct ScaledSum final : collectives::CommHook {
    comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& b) override {
      b.flat.scale_(1.0 / group.size());
      return group.all_reduce_async(b.flat, ReduceOp::sum);
    }
  };
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const int ranks = GENERATE(2, 3, 5);
  const auto train = [&](comm::ProcessGroup& group) -> std::string {
    CpuDevice device;
    const bool within = group.averaging(device) == comm::Averaging::within;
    test::expect(within == (transport == comm::Transport::shm), "the wrong group averages within");
    ScaledSum hook;
    std::string seen[2];
    for (collectives::CommHook* const given : {static_cast<ScaledSum*>(nullptr), &hook}) {
      Sums model({20'011, 10, 7}, device, DType::float32);
      ddp::Options options = small_buckets();
      options.hook = given;
      ddp::Ddp wrapped(model, group, options);
      for (int k = 0; k < 3; ++k) {
        model.zero_grad();
        Tape tape(GradMode::record);
        const Tensor x = full({1}, 0.1 * (k + 1) * (group.rank() + 1), DType::float32, device);
        tape.backward(wrapped.forward(tape, tape.constant(x)));
        for (const Parameter& p : model.all) {
          seen[given == nullptr ? 0 : 1] += text(checksum_of(p.grad.raw_bytes()), " ");
        }
      }
    }
    test::expect(seen[0] == seen[1], text(seen[0], "without a hook, ", seen[1], "with it"));
    return "";
  };
  const auto outcomes = test::run_gloo(ranks, train, test::late_s, transport);
  CHECK(test::failures(outcomes) == "");
}

TEST_CASE("ddp on Gloo: when a rank dies in the middle of backward, the others learn who it was") {
  const auto outcomes = test::run_gloo(3, [](comm::ProcessGroup& group) -> std::string {
    CpuDevice device;
    Sums model({100'000, 10, 50'000}, device);
    ddp::Ddp wrapped(model, group, small_buckets());
    pass(wrapped, 1, device);
    if (group.rank() == 1) {
      // p2's bucket is on its way, p1's gradient has just come.
      model.all[1].hooks.emplace_back([](Parameter&) { kill(getpid(), SIGKILL); });
    }
    try {
      pass(wrapped, 1, device);
    } catch (const CommError& error) {
      return error.what();
    }
    throw Error("backward returned without its peer");
  });
  for (const int rank : {0, 2}) {
    const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    CHECK(outcome.ok);
    CHECK_THAT(outcome.message, contains("rank 1"));
    CHECK(outcome.seconds < 20);  // long before the deadline of 120 s
  }
}
