// A rank that dies or fails inside a block, while another computes the same layer with it: every
// rank ends, and hears who it was and in which collective it was missed.
#include <signal.h>
#include <unistd.h>

#include <functional>

#include "engine/data/dataset.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/told_by_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using tensor_parallel::Sequence;

namespace {

constexpr const char* reason = "the feed-forward layer of block 1 is out of order";
constexpr double soon_s = 20;  // on a busy machine; less than the deadline of 120
constexpr int tp = 2;

// Two steps of three blocks. In the backward pass of the second one, rank 1 of the last layer group
// fails when it has a gradient of block 1: after the sum that ends it, before those that follow.
std::string two_steps(comm::ProcessGroup& world, Sequence sequence,
                      const std::function<void()>& fail) {
  CpuDevice device;
  const train::TrainingRanks ranks(world, {.tp = tp, .dp = world.size() / tp});
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = 3, .width = 16, .heads = 4, .sequence = 8, .vocabulary = 30};
  recipe.model.layers = std::make_shared<tensor_parallel::TensorLayers>(*ranks.layer(), sequence);
  train::Replica replica = train::make_replica(recipe, device);
  int passes = 0;
  if (world.rank() == world.size() - 1) {
    for (Parameter* parameter : replica.model->parameters()) {
      if (parameter->name != "h.1.mlp.c_proj.weight") continue;
      parameter->hooks.emplace_back([&](Parameter&) {
        if (++passes == 2) fail();
      });
    }
  }
  const auto strategy = train::make_ddp(ranks, std::move(replica), 0, {});
  const std::array batches{
      data::Batch{zeros({2, 8}, DType::int64, device), zeros({2, 8}, DType::int64, device)}};
  for (int step = 0; step < 2; ++step) {
    strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
  }
  return "went on";
}

// The collective in which rank 1 is missed first: what is left of backward sums, or scatters.
std::string missed(Sequence sequence) {
  return sequence == Sequence::whole ? "all_reduce" : "all_gather";
}

}  // namespace

TEST_CASE("tensor faults: a rank killed inside a block is named by the rank of its layer, soon") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const auto sequence = GENERATE(Sequence::whole, Sequence::sliced);
  const int ranks = GENERATE(2, 4);
  const auto outcomes = test::run_gloo(
      ranks,
      [&](comm::ProcessGroup& group) {
        return two_steps(group, sequence, [] { kill(getpid(), SIGKILL); });
      },
      test::late_s, transport);
  CHECK_THAT(outcomes.back().message, contains("[signal 9]"));
  for (int rank = 0; rank < ranks - 1; ++rank) {
    const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    CAPTURE(ranks, rank, static_cast<int>(sequence), outcome.message, outcome.seconds);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("rank 1"));
  }
  const test::Outcome& beside = outcomes[static_cast<std::size_t>(ranks - 2)];
  CAPTURE(beside.message);
  CHECK_THAT(beside.message, contains(missed(sequence)));
}

TEST_CASE("tensor faults: on the simulator, a rank that throws inside a block is heard by all") {
  const auto sequence = GENERATE(Sequence::whole, Sequence::sliced);
  const int ranks = GENERATE(2, 4);
  const auto messages = test::told_by_ranks(ranks, [&](comm::ProcessGroup& group) {
    two_steps(group, sequence, [] { throw Error(reason); });
  });
  CAPTURE(ranks, messages);
  CHECK(messages.back() == reason);
  for (int rank = 0; rank < ranks - 1; ++rank) {
    CHECK_FALSE(messages[static_cast<std::size_t>(rank)].empty());
  }
  const std::string& beside = messages[static_cast<std::size_t>(ranks - 2)];
  CHECK_THAT(beside, contains("rank " + std::to_string(ranks - 1)) && contains(reason));
}
