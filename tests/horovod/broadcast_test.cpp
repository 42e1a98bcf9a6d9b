// One optimizer's state on every rank.
#include "engine/parallel/horovod/broadcast_optimizer_state.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::message_of;
using lockstep::test::on_sim;
using lockstep::test::Weighted;

namespace {

std::unique_ptr<optim::Optimizer> optimizer_of(const std::string& kind, Weighted& model) {
  if (kind == "adam") return optim::make_adam(model.parameters(), {.learning_rate = 0.01});
  return optim::make_sgd(model.parameters(),
                         {.learning_rate = 0.1, .momentum = kind == "sgd" ? 0.9 : 0.0});
}

std::string text_of(const std::vector<optim::StateTensor>& state) {
  std::string all;
  for (const auto& [name, value] : state) {
    all += text(name, " ", checksum_of(value.raw_bytes()), "; ");
  }
  return all;
}

}  // namespace

TEST_CASE("horovod: state and learning rate become the root's, of every kind and on every rank") {
  const int ranks = GENERATE(1, 2, 3, 5, 8);
  const std::string kind = GENERATE("sgd", "adam", "sgd without momentum");
  const int root = ranks - 1;
  CAPTURE(ranks, kind);
  std::vector<std::string> states(static_cast<std::size_t>(ranks));
  const auto run = on_sim(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    Weighted model({3, 0, 5}, device, DType::float32);
    const auto optimizer = horovod::make_distributed_optimizer(optimizer_of(kind, model), group,
                                                               {.strands = &strands});
    // The root has trained alone; another rank has old state of its own.
    if (group.rank() == root || group.rank() == 0) {
      const auto alone = optimizer_of(kind, model);
      for (int step = 0; step <= group.rank(); ++step) {
        for (Parameter& p : model.all) {
          p.grad = full(p.value.shape(), 0.3 + step + group.rank(), DType::float32, device);
        }
        alone->step();
      }
      optimizer->load_state(alone->state());
      optimizer->set_learning_rate(0.5 + group.rank());
    }
    const std::string before = text_of(optimizer->state());
    horovod::broadcast_optimizer_state(group, *optimizer, root);
    LOCKSTEP_EXPECT(optimizer->learning_rate() == 0.5 + root);
    const std::string after = text_of(optimizer->state());
    LOCKSTEP_EXPECT(group.rank() != root || after == before);
    LOCKSTEP_EXPECT(after.empty() == (kind == "sgd without momentum"));
    states[static_cast<std::size_t>(group.rank())] = after;
  });
  CHECK(run.all() == "");
  for (const std::string& each : states) CHECK(each == states[0]);
}

TEST_CASE("horovod: a root without state takes away that of the others") {
  const auto run = on_sim(2, [&](comm::ProcessGroup& group, Strands&) {
    CpuDevice device;
    Weighted model({3}, device);
    const auto optimizer = optimizer_of("sgd", model);
    if (group.rank() == 1) {
      model.backward(2);
      optimizer->step();
      LOCKSTEP_EXPECT(optimizer->state().size() == 1);
    }
    horovod::broadcast_optimizer_state(group, *optimizer, 0);
    LOCKSTEP_EXPECT(optimizer->state().empty());
  });
  CHECK(run.all() == "");
}

TEST_CASE("horovod: state that a rank's optimizer has no place for is refused there") {
  const auto run = on_sim(2, [&](comm::ProcessGroup& group, Strands&) {
    CpuDevice device;
    Weighted model({3}, device);
    const auto optimizer = optimizer_of(group.rank() == 0 ? "adam" : "sgd", model);
    model.backward(2);
    optimizer->step();
    const std::string message =
        message_of([&] { horovod::broadcast_optimizer_state(group, *optimizer, 0); });
    LOCKSTEP_EXPECT((message == "") == (group.rank() == 0));
    LOCKSTEP_EXPECT(group.rank() == 0 ||
                    message.find("belongs to nothing here: sgd") != std::string::npos);
  });
  CHECK(run.all() == "");
}

TEST_CASE(
    "horovod: a rank without parameters takes part, and is refused what it has no place for") {
  const auto run = on_sim(3, [&](comm::ProcessGroup& group, Strands&) {
    CpuDevice device;
    Weighted model({3}, device), none({}, device);
    const auto empty_handed = optimizer_of("sgd", none);
    empty_handed->set_learning_rate(0.5 + group.rank());
    horovod::broadcast_optimizer_state(group, *empty_handed, 2);
    LOCKSTEP_EXPECT(empty_handed->learning_rate() == 2.5);

    const auto optimizer = optimizer_of("sgd", group.rank() == 1 ? none : model);
    if (group.rank() != 1) {
      model.backward(2);
      optimizer->step();
    }
    const std::string message =
        message_of([&] { horovod::broadcast_optimizer_state(group, *optimizer, 0); });
    LOCKSTEP_EXPECT((message == "") == (group.rank() != 1));
  });
  CHECK(run.all() == "");
}
