// What wrapping a module does, and what it refuses.
#include "engine/nn/mlp.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::errors_on_ranks;
using lockstep::test::message_of;
using lockstep::test::on_ranks;
using lockstep::test::pass;
using lockstep::test::Sums;

TEST_CASE("ddp: wrapping makes parameters and buffers those of rank 0, of every type") {
  const int ranks = GENERATE(1, 2, 3, 5);
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({3, 0, 7}, device);
    model.state.push_back({"counter", full({2}, 5 + group.rank(), DType::int64, device)});
    for (Parameter& parameter : model.all) parameter.value.fill_(10 + group.rank());
    const ddp::Ddp wrapped(model, group);
    LOCKSTEP_EXPECT(model.all[0].value.item(2) == 10);
    LOCKSTEP_EXPECT(model.all[2].value.item(6) == 10);
    LOCKSTEP_EXPECT(model.state[0].value.item(1) == 5);
  });
}

TEST_CASE("ddp: replicas that are not one model are refused on every rank, in one sentence") {
  const auto errors_with = [](const std::function<void(Sums&, int rank, Device&)>& change) {
    return errors_on_ranks(3, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      Sums model({3, 4, 5}, device);
      change(model, group.rank(), device);
      const ddp::Ddp wrapped(model, group);
    });
  };
  const auto all_say = [](const std::vector<std::string>& errors, const std::string& words) {
    for (const std::string& error : errors) {
      CHECK_THAT(error, contains(words));
      LOCKSTEP_EXPECT(error == errors[0]);
    }
  };
  all_say(errors_with([](Sums& model, int rank, Device& device) {
            if (rank > 0) model.all[1].value = zeros({4, rank}, DType::float64, device);
          }),
          "rank 0 has parameter p1 float64 [4] where rank 1 has parameter p1 float64 [4, 1]");
  all_say(errors_with([](Sums& model, int rank, Device&) {
            if (rank == 2) model.all.pop_back();
          }),
          "rank 0 has parameter p2 float64 [5] where rank 2 has nothing more");
  all_say(errors_with([](Sums& model, int rank, Device& device) {
            if (rank == 1)
              model.all.push_back({"more", zeros({1}, DType::float64, device), {}, {}});
          }),
          "rank 0 has nothing more where rank 1 has parameter more float64 [1]");
  all_say(errors_with([](Sums& model, int rank, Device& device) {
            if (rank == 2) model.all[0].value = model.all[0].value.to(DType::float32);
            if (rank == 2) model.all[2].value = zeros({1}, DType::float64, device);
          }),
          "parameter p0 float64 [3] where rank 2 has parameter p0 float32 [3]");
  all_say(errors_with([](Sums& model, int rank, Device& device) {
            model.state.push_back({"mean", zeros({rank == 2 ? 2 : 1}, DType::float64, device)});
          }),
          "rank 0 has buffer mean float64 [1] where rank 2 has buffer mean float64 [2]");
}

TEST_CASE("ddp: a module without parameters is refused") {
  CpuDevice device;
  Sums model({}, device);
  on_ranks(1, [&](comm::ProcessGroup& group) {
    LOCKSTEP_EXPECT(message_of([&] { ddp::Ddp(model, group); }).find("no parameters") !=
                    std::string::npos);
  });
}

TEST_CASE("ddp: buffers become rank 0's in each pass that is reduced, and only there") {
  // A running mean of the inputs, as a batch norm keeps it: a tenth of the new value a pass.
  struct Running final : nn::Module {
    explicit Running(Device& device) : inner({2}, device) {
      inner.state.push_back({"mean", zeros({1}, DType::float64, device)});
    }
    Value forward(Tape& tape, const Value& x) override {
      const Tensor& mean = inner.state[0].value;
      mean.fill_(0.9 * mean.item() + 0.1 * x.tensor.item());
      return inner.forward(tape, x);
    }
    std::vector<Parameter*> parameters() override { return inner.parameters(); }
    std::vector<nn::Buffer*> buffers() override { return inner.buffers(); }
    Sums inner;
  };
  on_ranks(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const int r = group.rank();
    const auto mean_after = [&](ddp::Buffers buffers, bool synced) {
      Running model(device);
      ddp::Options options;
      options.buffers = buffers;
      ddp::Ddp wrapped(model, group, options);
      pass(wrapped, r + 1, device);
      LOCKSTEP_EXPECT(model.inner.state[0].value.item() == test::Approx(0.1 * (r + 1)));
      if (synced) {
        pass(wrapped, r + 1, device);
      } else {
        const auto alone = wrapped.no_sync();
        pass(wrapped, r + 1, device);
      }
      return model.inner.state[0].value.item();
    };
    LOCKSTEP_EXPECT(mean_after(ddp::Buffers::broadcast, true) ==
                    test::Approx(0.09 + 0.1 * (r + 1)));
    LOCKSTEP_EXPECT(mean_after(ddp::Buffers::broadcast, false) == test::Approx(0.19 * (r + 1)));
    LOCKSTEP_EXPECT(mean_after(ddp::Buffers::local, true) == test::Approx(0.19 * (r + 1)));
  });
}

TEST_CASE("ddp: when it ends the module is as before, and the hooks of others stay") {
  CpuDevice device;
  Sums model({1, 1}, device);
  int heard = 0;
  on_ranks(1, [&](comm::ProcessGroup& group) {
    model.all[0].hooks.emplace_back([&](Parameter&) { heard += 1; });
    {
      ddp::Ddp wrapped(model, group);
      model.all[0].hooks.emplace_back([&](Parameter&) { heard += 10; });
      pass(wrapped, 2, device);
    }
    pass(model, 2, device);
  });
  LOCKSTEP_EXPECT(heard == 22);
  LOCKSTEP_EXPECT(model.all[0].hooks.size() == 2);
  LOCKSTEP_EXPECT(model.all[1].hooks.empty());
  LOCKSTEP_EXPECT(model.grad(0) == 4);
}
