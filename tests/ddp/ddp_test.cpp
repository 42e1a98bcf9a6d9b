// Passes of a wrapped module: averages, accumulation, plans, hooks.
#include "engine/parallel/ddp/ddp.hpp"

#include <array>

#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::forward_of;
using lockstep::test::message_of;
using lockstep::test::on_ranks;
using lockstep::test::pass;
using lockstep::test::Sums;

namespace {

// What a hook sees of a bucket.
struct Seen {
  std::size_t index;
  std::int64_t elements;
  bool last;
  std::size_t parameters;
  bool operator==(const Seen&) const = default;
};
using SeenBuckets = std::vector<Seen>;

// Writes down the buckets it is given, and sums them.
struct Recorder final : collectives::CommHook {
  SeenBuckets buckets;
  std::vector<double> firsts;
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& b) override {
    buckets.push_back({b.index, b.flat.numel(), b.last, b.gradients.size()});
    firsts.push_back(b.flat.item());
    return group.all_reduce_async(b.flat, ReduceOp::sum);
  }
};

}  // namespace

TEST_CASE("ddp: grads are the mean over the group, the same bits as multiply-then-sum gives") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 7, 8);
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums plain({5, 1, 3}, device), model({5, 1, 3}, device);
    ddp::Ddp wrapped(model, group);
    for (int k = 0; k < 3; ++k) {
      plain.zero_grad();
      model.zero_grad();
      const double x = 0.1 * (group.rank() + 1) + k;
      pass(plain, x, device);
      data_parallel::average_gradients(group, plain.parameters());
      pass(wrapped, x, device);
      for (std::size_t i = 0; i < 3; ++i) LOCKSTEP_EXPECT(model.grad(i) == plain.grad(i));
    }
  });
}

TEST_CASE("ddp: gradients from passes before are averaged along with the new ones") {
  // As PyTorch's, with x = rank + 1 on two ranks.
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2, 3}, device);
    ddp::Ddp wrapped(model, group);
    const double x = group.rank() + 1;
    {
      const auto alone = wrapped.no_sync();
      pass(wrapped, x, device);
    }
    LOCKSTEP_EXPECT(model.grad(0) == x);
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(0) == 3.0);
    LOCKSTEP_EXPECT(model.grad(1) == 3.0);

    model.zero_grad();
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(0) == 1.5);
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(0) == 3.0);
    {
      const auto alone = wrapped.no_sync();
      pass(wrapped, x, device);
    }
    LOCKSTEP_EXPECT(model.grad(1) == 3.0 + x);
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(model.grad(1) == 6.0);
  });
}

TEST_CASE("ddp: whether a pass is reduced is decided where forward is called") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2}, device);
    ddp::Ddp wrapped(model, group);
    const double x = group.rank() + 1;

    Tape inside(GradMode::record);
    Value loss;
    {
      const auto alone = wrapped.no_sync();
      loss = forward_of(wrapped, inside, x, device);
    }
    inside.backward(loss);
    LOCKSTEP_EXPECT(model.grad(0) == x);

    model.zero_grad();
    Tape outside(GradMode::record);
    loss = forward_of(wrapped, outside, x, device);
    {
      const auto alone = wrapped.no_sync();
      const auto nested = wrapped.no_sync();
      outside.backward(loss);
    }
    LOCKSTEP_EXPECT(model.grad(0) == 1.5);
  });
}

TEST_CASE("ddp: a pass belongs to its tape, so others may be made, dropped or walked meanwhile") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2}, device);
    ddp::Ddp wrapped(model, group);
    const double x = group.rank() + 1;
    Tape reduced(GradMode::record), alone(GradMode::record), dropped(GradMode::record);
    const Value loss = forward_of(wrapped, reduced, x, device);
    forward_of(wrapped, dropped, x, device);
    {
      const auto guard = wrapped.no_sync();
      alone.backward(forward_of(wrapped, alone, x, device));
    }
    LOCKSTEP_EXPECT(model.grad(0) == x);
    reduced.backward(loss);
    LOCKSTEP_EXPECT(model.grad(0) == 3.0);

    model.zero_grad();  // twice on one tape: one pass
    Tape twice(GradMode::record);
    const Value first = forward_of(wrapped, twice, x, device);
    twice.backward(autograd::add(twice, first, forward_of(wrapped, twice, x, device)));
    LOCKSTEP_EXPECT(model.grad(0) == 3.0);
  });
}

TEST_CASE("ddp: the plans of four layers of 600, pass by pass, are PyTorch's") {
  const auto plans = [](const ddp::Options& wanted) {
    std::vector<SeenBuckets> passes;
    on_ranks(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const std::array<std::int64_t, 5> widths{600, 600, 600, 600, 600};
      const auto model = nn::make_mlp(widths, DType::float32, device, 0);
      Recorder recorder;
      ddp::Options options = wanted;
      options.hook = &recorder;
      ddp::Ddp wrapped(*model, group, options);
      for (int k = 0; k < 3; ++k) {
        recorder.buckets.clear();
        Tape tape(GradMode::record);
        const Tensor input = full({1, 600}, 1, DType::float32, device);
        tape.backward(autograd::sum(tape, wrapped.forward(tape, tape.constant(input))));
        if (group.rank() == 0) passes.push_back(recorder.buckets);
      }
    });
    return passes;
  };
  const SeenBuckets one{{0, 1442400, true, 8}};
  ddp::Options options;
  const SeenBuckets two{{0, 360600, false, 2}, {1, 1081800, true, 6}};
  LOCKSTEP_EXPECT(plans(options) == std::vector<SeenBuckets>{one, two, two});
  options.limits.cap_bytes = std::int64_t{2} << 20;
  const SeenBuckets three{{0, 360600, false, 2}, {1, 721200, false, 4}, {2, 360600, true, 2}};
  LOCKSTEP_EXPECT(plans(options) == std::vector<SeenBuckets>{one, three, three});
  options.unused = ddp::Unused::reduce;
  const SeenBuckets registered{{0, 361200, false, 3}, {1, 721200, false, 4}, {2, 360000, true, 1}};
  LOCKSTEP_EXPECT(plans(options) == std::vector<SeenBuckets>(3, registered));
}

TEST_CASE("ddp: ranks whose gradients come in different orders follow rank 0's plan") {
  const int ranks = GENERATE(2, 3, 4);
  on_ranks(ranks, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2, 3}, device);
    if (group.rank() == 1) model.used = {2, 0, 1};
    if (group.rank() == 2) model.used = {1, 2, 0};
    ddp::Options options;
    options.limits = {1, 1};
    ddp::Ddp wrapped(model, group, options);
    LOCKSTEP_EXPECT(text_of(wrapped.plan()) == "[[0, 1, 2]]");
    for (int k = 0; k < 3; ++k) {
      model.zero_grad();
      pass(wrapped, group.rank() + 1, device);
      for (std::size_t i = 0; i < 3; ++i) {
        LOCKSTEP_EXPECT(model.grad(i) == test::Approx((group.size() + 1) / 2.0).epsilon(1e-15));
      }
      if (k > 0) LOCKSTEP_EXPECT(text_of(wrapped.plan()) == "[[2], [1], [0]]");
    }
  });
}

TEST_CASE(
    "ddp: gradients are held once, in the buckets, whatever is added up, clipped or planned") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const std::array<std::int64_t, 4> widths{40, 30, 20, 10};
    const auto model = nn::make_mlp(widths, DType::float32, device, 0);
    ddp::Options options;
    options.limits = {1, 2000};
    ddp::Ddp wrapped(*model, group, options);
    const auto optimizer = optim::make_sgd(model->parameters(), {.learning_rate = 0.1});
    const auto pass = [&] {
      Tape tape(GradMode::record);
      const Tensor input = full({2, 40}, group.rank() + 1, DType::float32, device);
      tape.backward(autograd::sum(tape, wrapped.forward(tape, tape.constant(input))));
    };
    for (int step = 0; step < 4; ++step) {
      optimizer->zero_grad();
      {
        const auto alone = wrapped.no_sync();
        pass();
        pass();
      }
      pass();
      optim::clip_grad_norm(model->parameters(), 1);
      optimizer->step();
    }
    LOCKSTEP_EXPECT(wrapped.plan().buckets.size() > 1);
    const std::int64_t bytes = nn::count_of(*model) * static_cast<std::int64_t>(sizeof(float));
    LOCKSTEP_EXPECT(device.bytes_peak(MemoryKind::gradients) == bytes);
  });
}

TEST_CASE("ddp: a hook gets what this rank computed, undivided, bucket by bucket") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 2}, device);
    Recorder recorder;
    ddp::Options options;
    options.limits = {1, 1};
    options.hook = &recorder;
    ddp::Ddp wrapped(model, group, options);
    const double x = group.rank() + 1;
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(recorder.firsts == std::vector<double>{x});
    LOCKSTEP_EXPECT(model.grad(0) == 3);  // the hook's sum, and nobody divided
    recorder = {};
    model.zero_grad();
    pass(wrapped, x, device);
    LOCKSTEP_EXPECT(recorder.firsts == std::vector<double>{x, x});
    LOCKSTEP_EXPECT(recorder.buckets == SeenBuckets{{0, 2, false, 1}, {1, 1, true, 1}});
  });
}

TEST_CASE("ddp: buckets have one type each, and halves are averaged in their own") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    struct Two final : nn::Module {
      explicit Two(Device& device) : wide({1, 2}, device), narrow({3, 4}, device, DType::float32) {}
      Value forward(Tape& tape, const Value& x) override {
        const Value half = tape.constant(x.tensor.to(DType::float32));
        // Both contribute to one number of the wide type.
        const Value low = narrow.forward(tape, half);
        const Value raised = tape.record(low.tensor.to(DType::float64), {low}, [](const Tensor& g) {
          return std::vector<Tensor>{g.to(DType::float32)};
        });
        return autograd::add(tape, wide.forward(tape, x), raised);
      }
      std::vector<Parameter*> parameters() override {
        return {&wide.all[0], &narrow.all[0], &wide.all[1], &narrow.all[1]};
      }
      Sums wide, narrow;
    };
    CpuDevice device;
    Two model(device);
    ddp::Ddp wrapped(model, group);
    LOCKSTEP_EXPECT(text_of(wrapped.plan()) == "[[1, 3], [0, 2]]");
    for (int k = 0; k < 2; ++k) {
      model.wide.zero_grad();
      model.narrow.zero_grad();
      pass(wrapped, group.rank() + 1, device);
      for (const Parameter* parameter : model.parameters())
        LOCKSTEP_EXPECT(parameter->grad.item() == 1.5);
      LOCKSTEP_EXPECT(wrapped.plan().buckets.size() == 2);
    }
  });
}

TEST_CASE("ddp: a loss that is reported in parts comes back as the mean over the ranks, once") {
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1}, device);
    ddp::Ddp wrapped(model, group);
    const auto report = [&](double loss) {
      wrapped.report(full({1}, loss, DType::float64, device));
    };
    report(group.rank() + 0.5);
    {
      const auto alone = wrapped.no_sync();
      pass(wrapped, 1, device);
    }
    const std::string unsent = message_of([&] { wrapped.mean_loss(); });
    LOCKSTEP_EXPECT(unsent.find("no loss was reported for step 0") != std::string::npos);
    report(10);
    pass(wrapped, 1, device);
    LOCKSTEP_EXPECT(wrapped.mean_loss() == Approx(11.5).epsilon(1e-15));
    for (int k = 0; k < 2; ++k) {
      report(group.rank() + 2.0 * k);
      pass(wrapped, 1, device);
    }
    LOCKSTEP_EXPECT(wrapped.mean_loss() == Approx(4).epsilon(1e-15));
    pass(wrapped, 1, device);
    const std::string none = message_of([&] { wrapped.mean_loss(); });
    LOCKSTEP_EXPECT(none.find("no loss was reported for step 4") != std::string::npos);
  });
}

TEST_CASE("ddp: passes that record nothing send nothing") {
  on_ranks(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({2}, device);
    model.state.push_back({"counter", zeros({1}, DType::int64, device)});
    ddp::Ddp wrapped(model, group);
    if (group.rank() == 1) return;  // the other one goes on alone
    Tape tape(GradMode::inference);
    LOCKSTEP_EXPECT(forward_of(wrapped, tape, 2, device).tensor.item() == 4);
    const auto alone = wrapped.no_sync();
    pass(wrapped, 2, device);
    LOCKSTEP_EXPECT(model.grad(0) == 2);
  });
}

TEST_CASE("ddp: a backward that was left by an exception is not taken up again in silence") {
  on_ranks(1, [](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1, 1}, device);
    ddp::Ddp wrapped(model, group);
    model.all[0].hooks.emplace_back([](Parameter&) { throw Error("a hook's own trouble"); });
    const auto error = [&] { return message_of([&] { pass(wrapped, 1, device); }); };
    LOCKSTEP_EXPECT(error().find("own trouble") != std::string::npos);
    LOCKSTEP_EXPECT(error().find("step 1 is not over") != std::string::npos);
  });
}
