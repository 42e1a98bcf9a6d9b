// Passes that only some ranks make with an input: the others shadow them.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using lockstep::test::errors_on_ranks;
using lockstep::test::message_of;
using lockstep::test::on_ranks;
using lockstep::test::small_buckets;
using lockstep::test::Sums;

namespace {

ddp::Options uneven(ddp::Unused unused = ddp::Unused::refuse) {
  ddp::Options options = small_buckets(unused);
  options.inputs = ddp::Inputs::uneven;
  return options;
}

// A pass of a rank that has an input, whose loss is reported.
void trained_pass(ddp::Ddp& model, double x, Device& device) {
  Tape tape(GradMode::record);
  const Value loss = test::forward_of(model, tape, x, device);
  model.report(loss.tensor);
  tape.backward(loss);
}

}  // namespace

TEST_CASE("ddp join: the gradients of uneven inputs are PyTorch's, with either divisor") {
  // Rank r has r + 2 inputs, and its gradient is r + 1. With divide_by_initial_world_size,
  // PyTorch's last rank sees 1.5, 1.5, 1 on two ranks and 2.5, 2.5, 2.25, 1.75, 1 on four; without
  // it 1.5, 1.5, 2 and 2.5, 2.5, 3, 3.5, 4.
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  const bool by_live = GENERATE(false, true);
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({3, 1, 2}, device);
    ddp::Ddp wrapped(model, group, uneven());
    for (int step = 0; step < ranks + 1; ++step) {
      model.zero_grad();
      double sum = 0, live = 0;
      for (int r = 0; r < ranks; ++r) {
        if (step >= r + 2) continue;
        sum += r + 1;
        ++live;
      }
      wrapped.divide_by(by_live ? static_cast<int>(live) : ranks);
      if (step < group.rank() + 2) {
        trained_pass(wrapped, group.rank() + 1, device);
      } else {
        wrapped.shadow();
      }
      const double right = sum / (by_live ? live : ranks);
      for (std::size_t i = 0; i < 3; ++i) {
        LOCKSTEP_EXPECT(model.grad(i) == Approx(right).epsilon(1e-15));
      }
      // Each loss is x times the six elements, which are 1.
      LOCKSTEP_EXPECT(wrapped.mean_loss() == Approx(6 * sum / ranks).epsilon(1e-14));
    }
  });
}

TEST_CASE("ddp join: the numbers for four ranks, written out") {
  const bool by_live = GENERATE(false, true);
  const std::vector<double> right = by_live ? std::vector<double>{2.5, 2.5, 3, 3.5, 4}
                                            : std::vector<double>{2.5, 2.5, 2.25, 1.75, 1};
  on_ranks(4, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2}, device);
    ddp::Ddp wrapped(model, group, uneven());
    for (int step = 0; step < 5; ++step) {
      model.zero_grad();
      wrapped.divide_by(by_live ? std::min(4, 5 - step) : 4);
      if (step < group.rank() + 2) {
        trained_pass(wrapped, group.rank() + 1, device);
      } else {
        wrapped.shadow();
      }
      LOCKSTEP_EXPECT(model.grad(0) == right[static_cast<std::size_t>(step)]);
    }
  });
}

TEST_CASE("ddp join: a rank that shadows the first pass agrees on the order of gradients") {
  const int idle = GENERATE(0, 1, 2);
  on_ranks(3, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2, 3, 1}, device);
    if (group.rank() == 2) model.used = {2, 0, 3, 1};
    ddp::Ddp wrapped(model, group, uneven());
    for (int k = 0; k < 3; ++k) {
      model.zero_grad();
      if (group.rank() == idle && k == 0) {
        wrapped.shadow();
      } else {
        trained_pass(wrapped, group.rank() + 1, device);
      }
      const double right = (k == 0 ? 6.0 - (idle + 1) : 6.0) / 3;
      for (std::size_t i = 0; i < 4; ++i) {
        LOCKSTEP_EXPECT(model.grad(i) == Approx(right).epsilon(1e-15));
      }
    }
    LOCKSTEP_EXPECT(wrapped.plan().buckets.size() > 1);
  });
}

TEST_CASE("ddp join: what no live rank uses has no gradient, on a rank that shadows neither") {
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2, 1}, device);
    ddp::Ddp wrapped(model, group, uneven(ddp::Unused::reduce));
    for (int k = 0; k < 3; ++k) {
      if (group.rank() == k) {
        model.zero_grad();
        wrapped.shadow();
      } else {
        model.zero_grad();
        model.used = group.rank() == (k + 1) % 3 ? std::vector<std::size_t>{0, 2}
                                                 : std::vector<std::size_t>{0};
        trained_pass(wrapped, 3, device);
      }
      LOCKSTEP_EXPECT(model.grad(0) == Approx(2).epsilon(1e-15));
      LOCKSTEP_EXPECT(!model.has_grad(1));
      LOCKSTEP_EXPECT(model.grad(2) == Approx(1).epsilon(1e-15));
    }
  });
}

TEST_CASE("ddp join: buffers are those of the largest rank that has an input") {
  on_ranks(4, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1}, device);
    model.state.push_back({"count", full({2}, 0, DType::float64, device)});
    ddp::Ddp wrapped(model, group, uneven());
    const std::vector<std::vector<int>> live{{0, 1, 2, 3}, {1, 2}, {0}};
    for (const auto& trains : live) {
      const Tensor& count = model.state[0].value;
      count.fill_(10.0 * (group.rank() + 1));
      if (std::ranges::count(trains, group.rank()) > 0) {
        trained_pass(wrapped, 1, device);
      } else {
        wrapped.shadow();
      }
      LOCKSTEP_EXPECT(count.item(1) == 10.0 * (trains.back() + 1));
    }
  });
}

TEST_CASE("ddp join: what cannot be is refused before anything is sent") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1}, device);
    ddp::Ddp even(model, group, small_buckets());
    const std::string shadow = message_of([&] { even.shadow(); });
    LOCKSTEP_EXPECT(shadow.find("Inputs::uneven (--join)") != std::string::npos);
    ddp::Ddp wrapped(model, group, uneven());
    for (const int ranks : {0, 3}) {
      const std::string error = message_of([&] { wrapped.divide_by(ranks); });
      LOCKSTEP_EXPECT(error.find(text("by ", ranks, " of 2 ranks")) != std::string::npos);
    }
    const auto alone = wrapped.no_sync();
    LOCKSTEP_EXPECT(message_of([&] { wrapped.shadow(); }).find("no_sync") != std::string::npos);
  });
}
