// Stages that fail in the middle of a step: every rank ends, and hears who it was.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <numeric>

#include "engine/base/text.hpp"
#include "engine/parallel/pipeline/model_stage.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/told_by_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using pipeline::Schedule;

namespace {

constexpr std::int64_t rows = 12;
constexpr int micro_batches = 6;
constexpr const char* reason = "the hook of the third micro-batch is out of order";

nn::ModelSpec model() {
  nn::ModelSpec spec;
  spec.widths = {16, 24, 12, 20, 8, 9, 5};  // six units
  return spec;
}

// What each of three stages hears when a hook of stage 1 throws in its third backward pass.
std::vector<std::string> messages_under(Schedule schedule) {
  const int stages = 3, chunks = schedule == Schedule::interleaved ? 2 : 1;
  const pipeline::Plan plan = pipeline::make_plan(schedule, stages, chunks, micro_batches);
  const std::vector<double> weights(micro_batches, 1.0 / micro_batches);
  return test::told_by_ranks(stages, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    pipeline::ModelStage stage(model(), {group.rank(), stages, chunks}, device, 3);
    int passes = 0;
    if (group.rank() == 1) {
      stage.module().parameters().front()->hooks.emplace_back([&passes](Parameter&) {
        if (++passes == 3) throw Error(reason);
      });
    }
    const data::Batch micro_batch{full({2, 16}, 0.5, DType::float32, device),
                                  zeros({2}, DType::int64, device)};
    const std::vector<data::Batch> batches(micro_batches, micro_batch);
    stage.begin(batches, {.mode = nn::Mode::training});
    pipeline::run_stage(group, stage, plan, weights);
  });
}

// Does something in the third backward pass of a rank, before it has computed anything.
class InThirdBackward final : public train::PhaseWatch {
 public:
  explicit InThirdBackward(std::function<void()> what) : what_(std::move(what)) {}
  void enter(train::Phase phase) override {
    if (phase == train::Phase::backward && ++passes_ == 3) what_();
  }

 private:
  std::function<void()> what_;
  int passes_ = 0;
};

// Steps of a pipeline of two stages, or of two such pipelines, in which a rank fails.
std::string two_steps(comm::ProcessGroup& group, int failing, const std::function<void()>& fail) {
  CpuDevice device;
  train::Recipe recipe;
  recipe.model = model();
  const auto strategy =
      train::make_pipeline({group, {.dp = group.size() / 2, .pp = 2}}, device, recipe, 0,
                           {.stages = 2, .micro_batches = micro_batches});
  InThirdBackward watch(fail);
  const auto dataset = data::make_synthetic(rows, 16, 5, 1);
  std::vector<std::int64_t> indices(rows);
  std::iota(indices.begin(), indices.end(), 0);
  const std::array batches{dataset->batch(indices, DType::float32, device)};
  strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
  if (group.rank() == failing) strategy->set_phase_watch(&watch);
  strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
  return "went on";
}

std::vector<test::Outcome> on_processes(int ranks, int failing, comm::Transport transport,
                                        const std::function<void()>& fail) {
  return test::run_gloo(
      ranks, [&](comm::ProcessGroup& group) { return two_steps(group, failing, fail); },
      test::late_s, transport);
}

constexpr double soon_s = 20;  // on a busy machine; less than the deadline of 120

}  // namespace

TEST_CASE("pipeline faults: a hook of the middle stage that throws in backward ends every stage") {
  const Schedule schedule = GENERATE(Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved,
                                     Schedule::zero_bubble);
  const auto messages = messages_under(schedule);
  CAPTURE(static_cast<int>(schedule), messages);
  CHECK(messages[1] == reason);
  CHECK_THAT(messages[0], contains("rank 1") && contains(reason));
  CHECK_THAT(messages[2], contains("rank 1") && contains(reason));
}

// The last rank is rank 1 of its pipeline, and of the replicas of its stage. Of two pipelines, rank
// 0 shares no group with it but the world, and hears of it through others.
TEST_CASE("pipeline faults: a stage killed between two micro-batches is named by its peers, soon") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const int ranks = GENERATE(2, 4);
  const auto outcomes = on_processes(ranks, ranks - 1, transport, [] { kill(getpid(), SIGKILL); });
  CHECK_THAT(outcomes.back().message, contains("[signal 9]"));
  for (int rank = 0; rank < ranks - 1; ++rank) {
    const test::Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    CAPTURE(ranks, rank, outcome.message, outcome.seconds);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("rank 1"));
    if (ranks == 4 && rank > 0)
      CHECK_THAT(outcome.message, contains("rank 1 (rank 3 of the world"));
  }
}

TEST_CASE("pipeline faults: on the simulator, a stage of the second pipeline has its global rank") {
  const auto messages = test::told_by_ranks(
      4, [](comm::ProcessGroup& group) { two_steps(group, 3, [] { throw Error(reason); }); });
  CAPTURE(messages);
  CHECK(messages[3] == reason);
  for (const std::size_t rank : {1U, 2U}) CHECK_THAT(messages[rank], contains("rank 3"));
}

TEST_CASE("pipeline faults: a stage that throws in backward is heard by the processes of others") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const auto outcomes = on_processes(2, 1, transport, [] { throw Error(reason); });
  CAPTURE(outcomes[0].message, outcomes[0].seconds);
  CHECK(outcomes[1].message == reason);
  CHECK_THAT(outcomes[0].message, contains("rank 1"));
  CHECK(outcomes[0].seconds < soon_s);
}
