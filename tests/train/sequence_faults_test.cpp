// A rank that dies or fails in the middle of a ring, while the others compute with a block: every
// rank ends, and hears who it was.
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/train/told_by_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using sequence_parallel::ContextKind;

namespace {

constexpr const char* reason = "attention of block 1 is out of order";
constexpr double soon_s = 20;  // on a busy machine; less than the deadline of 120

// Fails after so many messages, in the middle of a ring: the last rank has then sent its own block
// and not the next one.
class FailingPeers final : public comm::ProcessGroup {
 public:
  FailingPeers(comm::ProcessGroup& inner, int messages, std::function<void()> fail)
      : ProcessGroup(inner.rank(), inner.size(), inner.names()),
        inner_(inner),
        left_(messages),
        fail_(std::move(fail)) {}
  std::string_view backend() const override { return inner_.backend(); }
  comm::Traffic traffic() const override { return inner_.traffic(); }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where& where) override {
    return start_in(inner_, collective, where);
  }
  std::unique_ptr<ProcessGroup> start_split(int color, int key, const comm::Where& where) override {
    return inner_.split(color, key, where);
  }
  comm::Work start_send(const Tensor& data, int dst, int tag, const comm::Where& where) override {
    if (--left_ < 0) fail_();
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

std::string one_step(comm::ProcessGroup& world, ContextKind kind, int messages,
                     const std::function<void()>& fail) {
  CpuDevice device;
  const train::TrainingRanks ranks(world, {.cp = world.size(), .dp = 1});
  const bool last = world.rank() == world.size() - 1;
  FailingPeers sequence(*ranks.sequence(), last ? messages : 1000, fail);
  train::Recipe recipe;
  recipe.model.kind = nn::ModelKind::gpt;
  recipe.model.gpt = {.layers = 3, .width = 16, .heads = 4, .sequence = 12, .vocabulary = 30};
  recipe.model.layers = std::make_shared<sequence_parallel::ContextLayers>(
      sequence, kind, 12, std::make_shared<nn::LayerMaker>());
  // The plain way: it leaves nothing in flight that would outlive the device.
  const auto strategy = train::make_plain(ranks, train::make_replica(recipe, device), 0);
  const std::array batches{
      data::Batch{zeros({2, 12}, DType::int64, device), zeros({2, 12}, DType::int64, device)}};
  strategy->step(batches, {.mode = nn::Mode::training}, 0.01);
  return "went on";
}

// In block 1 on the way there, or on the way back.
constexpr int on_the_way_there = 3, on_the_way_back = 12;

}  // namespace

TEST_CASE("sequence faults: a rank killed in the middle of a ring is named, soon") {
  const auto transport = GENERATE(comm::Transport::shm, comm::Transport::gloo);
  const auto kind = GENERATE(ContextKind::ring, ContextKind::zigzag);
  const int messages = GENERATE(on_the_way_there, on_the_way_back);
  constexpr int ranks = 3;
  const auto outcomes = test::run_gloo(
      ranks,
      [&](comm::ProcessGroup& group) {
        return one_step(group, kind, messages, [] { kill(getpid(), SIGKILL); });
      },
      test::late_s, transport);
  CHECK_THAT(outcomes.back().message, contains("[signal 9]"));
  for (std::size_t rank = 0; rank + 1 < outcomes.size(); ++rank) {
    const test::Outcome& outcome = outcomes[rank];
    CAPTURE(rank, messages, outcome.message, outcome.seconds);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.seconds < soon_s);
    CHECK_THAT(outcome.message, contains("rank 2"));
  }
}

TEST_CASE("sequence faults: on the simulator, a rank that throws in a ring is heard by all") {
  const int messages = GENERATE(on_the_way_there, on_the_way_back);
  const auto messages_of_ranks = test::told_by_ranks(3, [&](comm::ProcessGroup& group) {
    one_step(group, ContextKind::zigzag, messages, [] { throw Error(reason); });
  });
  CAPTURE(messages, messages_of_ranks);
  CHECK(messages_of_ranks.back() == reason);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK_THAT(messages_of_ranks[rank], contains("rank 2") && contains(reason));
  }
}

TEST_CASE("sequence faults: a sequence of another length on another rank is an error on all") {
  const auto messages = test::told_by_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::int64_t length = group.rank() == 0 ? 8 : 12;
    const auto layers = std::make_shared<nn::LayerMaker>();
    const sequence_parallel::ContextLayers context(group, ContextKind::ring, length, layers);
    const auto attention = context.attention("attn", 8, 2, {0.1, 0.1}, {DType::float32, device, 3});
    Tape tape(GradMode::inference);
    attention->forward(tape, tape.constant(zeros({1, length / 2, 8}, DType::float32, device)));
  });
  CAPTURE(messages);
  for (const std::string& message : messages) CHECK_FALSE(message.empty());
}
