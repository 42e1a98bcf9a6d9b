// Ranks that die or fail while a unit is gathered: every rank ends, and hears who it was and which
// unit was on its way.
#include <signal.h>
#include <unistd.h>

#include <functional>

#include "engine/base/text.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/told_by_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

constexpr const char* reason = "a hook of unit 2 is out of order";
constexpr double soon_s = 20;  // on a busy machine; less than the deadline of 120

// Groups of `shard_ranks`, as the strategy splits them.
struct Groups {
  Groups(comm::ProcessGroup& world, int k)
      : shards(world.split(world.rank() / k, world.rank())),
        copies(world.split(world.rank() % k, world.rank())) {}
  std::unique_ptr<comm::ProcessGroup> shards, copies;
};

// Two steps of five units. In the backward pass of the second one, while unit 2 is gathered, the
// last rank fails.
std::string two_steps(comm::ProcessGroup& world, int shard_ranks,
                      const std::function<void()>& fail) {
  nn::ModelSpec spec;
  spec.widths = {16, 24, 12, 20, 8, 5};
  CpuDevice device;
  const Groups groups(world, shard_ranks);
  zero::ShardedUnits units(
      spec, 3, device, {*groups.shards, groups.copies->size() > 1 ? groups.copies.get() : nullptr},
      {zero::Sharding::full_shard, 1});
  const Tensor inputs = full({4, 16}, 0.5, DType::float32, device);
  const Tensor labels = zeros({4}, DType::int64, device);
  for (int step = 0; step < 2; ++step) {
    if (step == 1 && world.rank() == world.size() - 1) {
      for (Parameter* parameter : units.model().parameters()) {
        if (parameter->name == "2.weight") {
          parameter->hooks.emplace_back([&](Parameter&) { fail(); });
        }
      }
    }
    units.zero_grad();
    units.begin(zero::Reduces::yes);
    Tape tape(GradMode::record);
    const Value logits = units.model().forward(tape, tape.constant(inputs));
    tape.backward(autograd::cross_entropy(tape, logits, labels));
    units.end_backward();
    units.end_update();
  }
  return "went on";
}

void check_told(const std::string& message) {
  CHECK_THAT(message, contains("sharded state: rank ") && contains(" of unit ") &&
                          contains(".weight to ") && contains("rank "));
}

}  // namespace

TEST_CASE("zero faults: a rank killed while a unit is gathered is named with the unit, soon") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  // One copy on three ranks; two copies of two ranks each, one of which shares no group with
  // rank 3.
  const auto [ranks, shard_ranks] = GENERATE(std::pair(3, 3), std::pair(4, 2));
  const auto outcomes = test::run_gloo(
      ranks,
      [&, k = shard_ranks](comm::ProcessGroup& group) {
        return two_steps(group, k, [] { kill(getpid(), SIGKILL); });
      },
      test::late_s, transport);
  CHECK_THAT(outcomes.back().message, contains("[signal 9]"));
  for (int rank = 0; rank < ranks - 1; ++rank) {
    const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    CAPTURE(ranks, rank, outcome.message, outcome.seconds);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    check_told(outcome.message);
    if (shard_ranks == 3) CHECK_THAT(outcome.message, contains("rank 2"));
  }
}

TEST_CASE("zero faults: a rank that throws while a unit is gathered is heard by other processes") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const auto outcomes = test::run_gloo(
      2, [](comm::ProcessGroup& group) { return two_steps(group, 2, [] { throw Error(reason); }); },
      test::late_s, transport);
  CAPTURE(outcomes[0].message, outcomes[0].seconds);
  CHECK(outcomes[1].message == reason);
  check_told(outcomes[0].message);
  CHECK_THAT(outcomes[0].message, contains("rank 1"));
  CHECK(outcomes[0].seconds < soon_s);
}

TEST_CASE("zero faults: on the simulator, every rank ends with the rank and the unit") {
  constexpr int ranks = 4;
  const int shard_ranks = GENERATE(2, 4);
  const auto messages = test::told_by_ranks(ranks, [&](comm::ProcessGroup& group) {
    two_steps(group, shard_ranks, [] { throw Error(reason); });
  });
  CAPTURE(shard_ranks, messages);
  CHECK(messages[3] == reason);
  for (std::size_t rank = 0; rank + 1 < ranks; ++rank) check_told(messages[rank]);
  CHECK_THAT(messages[2], contains("rank 3") && contains(reason));
}
