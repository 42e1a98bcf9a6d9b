// The same passes on the simulated group, where a buffer that changes while it is in flight is
// found.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"
#include "tests/sim/thread_host.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::pass;
using lockstep::test::small_buckets;
using lockstep::test::Sums;

namespace {

// Runs `body` on simulated ranks; the core's finding, or what a rank threw, or "".
std::string on_sim(int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  test::ThreadHost host(core);
  host.run([&](sim::Port& port, int rank) {
    const auto group = comm::make_sim_group(port, rank, ranks);
    body(*group);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    if (!host.failure(rank).empty()) return host.failure(rank);
  }
  return core.finding() ? core.finding()->message : "";
}

}  // namespace

TEST_CASE("ddp on sim: nothing in flight is touched, and ranks that differ in order agree") {
  const int ranks = GENERATE(1, 2, 3, 4, 5);
  CHECK(on_sim(ranks, [](comm::ProcessGroup& group) {
          CpuDevice device;
          Sums model({1, 2, 3, 4}, device);
          if (group.rank() % 2 == 1) model.used = {3, 1, 0, 2};
          ddp::Ddp wrapped(model, group, small_buckets());
          for (int k = 0; k < 4; ++k) {
            if (k % 2 == 0) model.zero_grad();
            {
              const auto alone = wrapped.no_sync();
              pass(wrapped, group.rank() + 1, device);
            }
            pass(wrapped, group.rank() + 1, device);
            const double mean = (group.size() + 1) / 2.0;
            for (std::size_t i = 0; i < 4; ++i) {
              LOCKSTEP_EXPECT(model.grad(i) == Approx(k % 2 == 0 ? 2 * mean : 4 * mean));
            }
          }
        }) == "");
}

TEST_CASE("ddp on sim: ranks that use different parameters do not wait for each other") {
  CHECK(on_sim(3, [](comm::ProcessGroup& group) {
          CpuDevice device;
          Sums model({1, 2, 3}, device);
          ddp::Ddp wrapped(model, group, small_buckets(ddp::Unused::reduce));
          for (int k = 0; k < 3; ++k) {
            model.zero_grad();
            model.used = {static_cast<std::size_t>((group.rank() + k) % 3)};
            pass(wrapped, 3, device);
            for (std::size_t i = 0; i < 3; ++i) LOCKSTEP_EXPECT(model.grad(i) == Approx(1));
          }
        }) == "");
}

TEST_CASE("ddp on sim: a model without numbers makes the same passes") {
  CHECK(on_sim(2, [](comm::ProcessGroup& group) {
          SymbolicDevice device;
          Sums model({1, 2, 3}, device);
          ddp::Ddp wrapped(model, group, small_buckets());
          for (int k = 0; k < 2; ++k) {
            model.zero_grad();
            Tape tape(GradMode::record);
            const Tensor x = empty({1}, DType::float64, device);
            tape.backward(wrapped.forward(tape, tape.constant(x)));
            LOCKSTEP_EXPECT(model.has_grad(0) && model.has_grad(2));
          }
          LOCKSTEP_EXPECT(wrapped.plan().buckets.size() == 3);
        }) == "");
}
