// Hooks that fail: every rank ends, and hears who it was.
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/parallel/compress/cast.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

using Start = std::function<comm::Work(comm::ProcessGroup&, const collectives::GradientBucket&)>;

class FaultyHook final : public collectives::CommHook {
 public:
  explicit FaultyHook(Start start) : start_(std::move(start)) {}
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    return start_(group, bucket);
  }

 private:
  Start start_;
};

// What each rank hears when rank 1's hook is `faulty` and the others' casts, over two passes.
std::vector<std::string> messages_of(int ranks, const Start& faulty) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    try {
      const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
      CpuDevice device;
      const std::int64_t widths[] = {5, 7, 3};
      const auto model = nn::make_mlp(widths, DType::float32, device, 3);
      FaultyHook hook([&](comm::ProcessGroup& of, const collectives::GradientBucket& bucket) {
        return self.rank == 1 ? faulty(of, bucket)
                              : compress::cast_reduce(of, bucket.flat, DType::float16);
      });
      ddp::Options with_hook;
      with_hook.limits = {1, 1};
      with_hook.hook = &hook;
      ddp::Ddp wrapped(*model, *group, with_hook);
      for (int pass = 0; pass < 2; ++pass) {
        Tape tape(GradMode::record);
        const Value x = tape.constant(full({4, 5}, self.rank + 1, DType::float32, device));
        const Tensor labels = zeros({4}, DType::int64, device);
        tape.backward(autograd::cross_entropy(tape, wrapped.forward(tape, x), labels));
      }
    } catch (const Error& error) {
      messages[static_cast<std::size_t>(self.rank)] = error.what();
      throw;
    }
  });
  return messages;
}

}  // namespace

TEST_CASE("hook faults: a hook that throws when it starts, or at its end, ends every rank") {
  const auto when = GENERATE(0, 1);
  const auto messages =
      messages_of(3, [&](comm::ProcessGroup& group, const collectives::GradientBucket& bucket) {
        if (when == 0) throw Error(text("the hook of bucket ", bucket.index, " is out of order"));
        return compress::then(group, compress::cast_reduce(group, bucket.flat, DType::float16),
                              [] { throw Error("the hook of bucket 0 is out of order"); });
      });
  CAPTURE(when);
  CHECK(messages[1] == "the hook of bucket 0 is out of order");
  for (const std::size_t rank : {std::size_t{0}, std::size_t{2}}) {
    CAPTURE(messages[rank]);
    CHECK_THAT(messages[rank], contains("rank 1"));
  }
}

TEST_CASE("hook faults: a hook that reduces another size, or another type, is told with both") {
  const auto shorter =
      messages_of(3, [](comm::ProcessGroup& group, const collectives::GradientBucket& bucket) {
        return compress::cast_reduce(group, bucket.flat.narrow(1, bucket.flat.numel() - 1),
                                     DType::float16);
      });
  // 5·7 + 7 + 7·3 + 3 parameters in the one bucket of the first pass.
  CHECK_THAT(shorter[0],
             contains("rank 1") && contains("all_reduce") && contains("65") && contains("66"));
  const auto other =
      messages_of(2, [](comm::ProcessGroup& group, const collectives::GradientBucket& bucket) {
        return compress::cast_reduce(group, bucket.flat, DType::bfloat16);
      });
  CHECK_THAT(other[0], contains("bfloat16") && contains("float16") && contains("rank 1"));
}

TEST_CASE("hook faults: a hook that sends nothing is found") {
  const auto messages = messages_of(
      2, [](comm::ProcessGroup&, const collectives::GradientBucket&) { return comm::Work(); });
  CAPTURE(messages[0], messages[1]);
  CHECK_FALSE(messages[0].empty());
  CHECK_FALSE(messages[1].empty());
}
