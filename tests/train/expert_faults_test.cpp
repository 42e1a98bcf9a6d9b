// A rank that dies or fails in a layer of experts, between the counts and the rows or on the way
// back: every rank ends, and hears who it was.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>

#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/told_by_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

constexpr const char* reason = "experts of block 1 are out of order";
constexpr double soon_s = 20;  // on a busy machine; less than the deadline of 120

// Fails before its n-th all-to-all: in each layer come the counts, the rows, and the results.
class FailingGroup final : public comm::ProcessGroup {
 public:
  FailingGroup(comm::ProcessGroup& inner, int collectives, std::function<void()> fail)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()),
        inner_(inner),
        left_(collectives),
        fail_(std::move(fail)) {}
  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    if (--left_ < 0) fail_();
    return start_in(inner_, collective, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    return inner_.split(color, key, where);
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    return inner_.isend(data, dst, tag, where);
  }
  comm::Work start_recv(Tensor data, int src, int tag, const comm::Where& where) override {
    return inner_.irecv(std::move(data), src, tag, where);
  }
  void give_up(const std::string& why) override { give_up_in(inner_, why); }

 private:
  comm::ProcessGroup& inner_;
  int left_;
  std::function<void()> fail_;
};

std::string one_step(comm::ProcessGroup& world, int collectives,
                     const std::function<void()>& fail) {
  CpuDevice device;
  const train::TrainingRanks ranks(world, {.ep = world.size(), .dp = 1});
  const bool last = world.rank() == world.size() - 1;
  FailingGroup experts(*ranks.experts(), last ? collectives : 1000, fail);
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = 2, .width = 16, .heads = 4, .sequence = 12, .vocabulary = 30};
  recipe.model.gpt.mixture = {.experts = 6, .top_k = 2};
  recipe.model.layers = std::make_shared<expert_parallel::ExpertLayers>(
      expert_parallel::ExpertRanks{.experts = &experts, .tokens = &ranks.replicas()},
      std::make_shared<nn::LayerMaker>(), expert_parallel::ExpertModel{.blocks = 2, .experts = 6});
  const auto strategy = train::make_plain(ranks, train::make_replica(recipe, device), 0);
  const std::array batches{
      data::Batch{zeros({2, 12}, DType::int64, device), zeros({2, 12}, DType::int64, device)}};
  strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
  return "went on";
}

// In block 1 between the counts and the rows, and on the way back.
constexpr int before_rows = 4, on_the_way_back = 7;

}  // namespace

TEST_CASE("expert faults: a rank killed between counts and rows is named, soon") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const int collectives = GENERATE(before_rows, on_the_way_back);
  const auto outcomes = test::run_gloo(
      3,
      [&](comm::ProcessGroup& group) {
        return one_step(group, collectives, [] { kill(getpid(), SIGKILL); });
      },
      test::late_s, transport);
  CHECK_THAT(outcomes.back().message, contains("[signal 9]"));
  for (std::size_t rank = 0; rank + 1 < outcomes.size(); ++rank) {
    const test::Outcome& outcome = outcomes[rank];
    CAPTURE(rank, collectives, outcome.message, outcome.seconds);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("rank 2"));
  }
}

TEST_CASE("expert faults: on the simulator, a rank that throws in a layer is heard by all") {
  const int collectives = GENERATE(before_rows, on_the_way_back);
  const auto messages = test::told_by_ranks(3, [&](comm::ProcessGroup& group) {
    one_step(group, collectives, [] { throw Error(reason); });
  });
  CAPTURE(collectives, messages);
  CHECK(messages.back() == reason);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK_THAT(messages[rank], contains("rank 2") && contains(reason));
  }
}
