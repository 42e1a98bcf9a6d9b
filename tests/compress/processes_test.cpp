// Hooks on processes: ranks that were not told the same, a rank that dies between the two steps of
// a hook, and hooks of DDP that fail.
#include <signal.h>
#include <unistd.h>

#include "engine/nn/mlp.hpp"
#include "engine/parallel/compress/cast.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/quantize.hpp"
#include "engine/parallel/compress/top_k.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/comm/shm_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

std::vector<test::Outcome> on_processes(comm::Transport transport, const test::RankGroup& body,
                                        double timeout_s = test::late_s) {
  return transport == comm::Transport::shm ? test::run_shm(3, body, timeout_s)
                                           : test::run_gloo(3, body, timeout_s);
}

enum class Flaw : std::uint8_t { throws_in_start, throws_in_wait, sends_less };

// In the second pass, rank 1's hook has the flaw. Otherwise gradients travel in 16 bits.
class FlawedHook final : public collectives::CommHook {
 public:
  explicit FlawedHook(Flaw flaw) : flaw_(flaw) {}
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    const bool flawed = passes_ == 1 && group.rank() == 1;
    if (bucket.last) ++passes_;
    if (flawed && flaw_ == Flaw::throws_in_start) fail();
    const Tensor sent = flawed && flaw_ == Flaw::sends_less
                            ? bucket.flat.narrow(0, bucket.flat.numel() - 1)
                            : bucket.flat;
    comm::Work work = compress::cast_reduce(group, sent, DType::float16);
    if (!flawed || flaw_ != Flaw::throws_in_wait) return work;
    return compress::then(group, std::move(work), fail);
  }

 private:
  static void fail() { throw Error("a hook of the test"); }
  Flaw flaw_;
  int passes_ = 0;
};

// Three passes of DDP with several buckets.
std::string trained_with(comm::ProcessGroup& group, Flaw flaw) {
  static CpuDevice device;  // outlives the group, which may hold buckets of a pass that failed
  const std::int64_t widths[] = {50, 70, 30};
  const auto model = nn::make_mlp(widths, DType::float32, device, 3);
  FlawedHook hook(flaw);
  ddp::Options options;
  options.limits = {1, 1};
  options.hook = &hook;
  ddp::Ddp wrapped(*model, group, options);
  for (int pass = 0; pass < 3; ++pass) {
    Tape tape(GradMode::record);
    const Value x = tape.constant(full({4, 50}, group.rank() + 1, DType::float32, device));
    const Tensor labels = zeros({4}, DType::int64, device);
    tape.backward(autograd::cross_entropy(tape, wrapped.forward(tape, x), labels));
  }
  return "trained";
}

}  // namespace

TEST_CASE("compress on processes: ranks with different fractions are told which rank brings what") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const auto outcomes = on_processes(transport, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor gradient = full({100}, group.rank() + 1, DType::float32, device);
    const Tensor residual = zeros({100}, DType::float32, device);
    const double fraction = group.rank() == 2 ? 0.2 : 0.1;
    return test::error_of(
        [&] { compress::top_k_reduce(group, gradient, residual, fraction).wait(); });
  });
  for (const test::Outcome& outcome : outcomes) {
    CAPTURE(outcome.message);
    CHECK(outcome.ok);
    // 10 and 20 entries of 8 bytes.
    CHECK_THAT(outcome.message, contains("all_gather of 80") && contains("all_gather of 160") &&
                                    contains("rank 2") && contains("top_k_error_feedback.cpp"));
  }
}

TEST_CASE("compress on processes: a rank that dies between the two steps of int8 is named") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const auto outcomes = on_processes(transport, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor data = full({10'000}, group.rank() + 1, DType::float32, device);
    compress::quantized_all_reduce(group, data).wait();
    comm::Work work = compress::quantized_all_reduce(group, data);
    if (group.rank() == 1) {
      // Its first step may be over by now; it never takes the second.
      kill(getpid(), SIGKILL);
    }
    return test::error_of([&] { work.wait(); });
  });
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    CAPTURE(outcomes[rank].message);
    CHECK(outcomes[rank].ok);
    CHECK_THAT(outcomes[rank].message, contains("rank 1"));
    CHECK(outcomes[rank].seconds < 20);  // long before the deadline of 120 s
  }
}

TEST_CASE("compress on processes: a hook of DDP that throws ends every rank, and names its own") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const Flaw flaw = GENERATE(Flaw::throws_in_start, Flaw::throws_in_wait);
  CAPTURE(static_cast<int>(flaw));
  const auto outcomes =
      on_processes(transport, [&](comm::ProcessGroup& group) { return trained_with(group, flaw); });
  CHECK(outcomes[1].message == "a hook of the test");
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    CAPTURE(rank, outcomes[rank].message);
    CHECK_FALSE(outcomes[rank].ok);
    CHECK(outcomes[rank].seconds < 20);
    if (rank == 1) continue;
    CHECK_THAT(outcomes[rank].message,
               contains("rank 1 of 3 gave up its group because of an exception") &&
                   !contains("Timed out"));
  }
}

TEST_CASE("compress on processes: a hook of DDP that sends less is told on every rank, with both") {
  const auto transport = GENERATE(comm::Transport::gloo, comm::Transport::shm);
  const auto outcomes = on_processes(
      transport, [](comm::ProcessGroup& group) { return trained_with(group, Flaw::sends_less); });
  for (const test::Outcome& outcome : outcomes) {
    CAPTURE(outcome.message);
    CHECK_FALSE(outcome.ok);
    // The last bias, which is the first bucket of the second pass.
    CHECK_THAT(outcome.message,
               contains("of 30 float16") && contains("of 29 float16") && contains("rank 1 "));
    CHECK(outcome.seconds < 20);
  }
}
