// The reducer and the order of its events, over a group that writes down what it is asked.
#include "engine/parallel/ddp/reducer.hpp"

#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/ddp/fixtures.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::pass;
using lockstep::test::Sums;

namespace {

using Journal = std::vector<std::string>;

// Rank 0 of two whose peer has the same values, so that a sum is twice the tensor.
class ScriptedGroup final : public comm::ProcessGroup {
 public:
  explicit ScriptedGroup(Journal& journal) : ProcessGroup(0, 2), journal_(journal) {}
  std::string_view backend() const override { return "script"; }
  comm::Traffic traffic() const override { return {}; }

 protected:
  comm::Work start(const comm::Collective& collective, const comm::Where&) override {
    if (collective.kind == comm::CollectiveKind::all_gather) {
      for (int rank = 0; rank < 2; ++rank) {
        collective.output.narrow(rank * collective.input.numel(), collective.input.numel())
            .copy_(collective.input);
      }
    }
    if (collective.kind != comm::CollectiveKind::all_reduce) return {};
    const std::string what = text(collective.output.numel());
    journal_.push_back("start " + what);
    return comm::Work(std::make_unique<Answer>(journal_, what, collective.output));
  }
  comm::Work start_send(const Tensor&, int, int, const comm::Where&) override { return {}; }
  comm::Work start_recv(Tensor, int, int, const comm::Where&) override { return {}; }
  std::unique_ptr<ProcessGroup> start_split(int, int, const comm::Where&) override { return {}; }

 private:
  // The sum arrives when it is waited for, not before.
  struct Answer final : comm::Pending {
    Answer(Journal& the_journal, std::string the_name, Tensor the_data)
        : journal(the_journal), name(std::move(the_name)), data(std::move(the_data)) {}
    void wait() override {
      journal.push_back("wait " + name);
      data.scale_(2);
    }
    std::optional<double> ran_s() const override { return 3600; }
    Journal& journal;
    std::string name;
    Tensor data;
  };
  Journal& journal_;
};

collectives::BucketPlan plan_of(std::vector<std::vector<std::size_t>> buckets) {
  return {std::move(buckets)};
}

}  // namespace

TEST_CASE("reducer: a bucket starts when it is full and its turn has come, and nothing waits") {
  Journal journal;
  ScriptedGroup group(journal);
  CpuDevice device;
  Sums model({1, 2, 4, 8}, device);
  const auto hook = collectives::make_sum_hook();
  const auto reducer = ddp::make_bucketed_reducer(group, model.parameters(),
                                                  plan_of({{3, 2}, {1}, {0}}), {0.5, hook.get()});
  for (int iteration = 0; iteration < 3; ++iteration) {
    journal.clear();
    for (std::size_t i = 0; i < 4; ++i) {
      model.all[i].grad =
          full({std::int64_t{1} << i}, static_cast<double>(i), DType::float64, device);
    }
    reducer->on_gradient_ready(0);
    reducer->on_gradient_ready(1);
    reducer->on_gradient_ready(3);
    CHECK(journal.empty());  // two later buckets are full, but bucket 0 goes first
    reducer->on_gradient_ready(2);
    CHECK(journal == Journal{"start 12", "start 2", "start 1"});
    reducer->finalize();
    CHECK(journal == Journal{"start 12", "start 2", "start 1", "wait 12", "wait 2", "wait 1"});
    for (std::size_t i = 0; i < 4; ++i) CHECK(model.grad(i) == static_cast<double>(i));
  }
}

TEST_CASE("reducer: grads are places in one bucket, and what lies there is not copied again") {
  Journal journal;
  ScriptedGroup group(journal);
  CpuDevice device;
  Sums model({3, 5}, device);
  const auto hook = collectives::make_sum_hook();
  const auto reducer =
      ddp::make_bucketed_reducer(group, model.parameters(), plan_of({{1, 0}}), {0.5, hook.get()});
  const auto round = [&] {
    reducer->on_gradient_ready(1);
    reducer->on_gradient_ready(0);
    reducer->finalize();
  };
  model.all[0].grad = full({3}, 4, DType::float64, device);
  round();
  CHECK(model.grad(0) == 4);
  CHECK(model.grad(1) == 0);  // there was none: zeros
  CHECK(model.all[0].grad.raw_bytes().data() ==
        model.all[1].grad.raw_bytes().data() + 5 * sizeof(double));
  CHECK(model.all[0].grad.kind() == MemoryKind::gradients);
  const Tensor before = model.all[0].grad;
  model.all[0].grad.fill_(6);
  round();
  CHECK(model.all[0].grad.same_place(before));
  CHECK(model.grad(0) == 6);
}

TEST_CASE("reducer: a gradient that comes twice or never, and a plan that is none, are refused") {
  Journal journal;
  ScriptedGroup group(journal);
  CpuDevice device;
  Sums model({1, 1}, device);
  const auto hook = collectives::make_sum_hook();
  const auto make = [&](std::vector<std::vector<std::size_t>> buckets) {
    return ddp::make_bucketed_reducer(group, model.parameters(), plan_of(std::move(buckets)),
                                      {1, hook.get()});
  };
  const auto reducer = make({{1, 0}});
  CHECK_THROWS_AS(reducer->on_gradient_ready(2), ContractError);
  reducer->on_gradient_ready(1);
  CHECK_THROWS_WITH(reducer->on_gradient_ready(1), contains("p1 was ready before"));
  CHECK_THROWS_WITH(reducer->finalize(), contains("p0 did not come"));
  CHECK_THROWS_AS(make({{1}}), ContractError);
  CHECK_THROWS_AS(make({{1, 0}, {1}}), ContractError);
  CHECK_THROWS_AS(make({{1, 0, 2}}), ContractError);
  Sums halves({1}, device, DType::bfloat16);
  std::vector<Parameter*> both{model.parameters()[0], halves.parameters()[0]};
  CHECK_THROWS_WITH(ddp::make_bucketed_reducer(group, both, plan_of({{0, 1}}), {1, hook.get()}),
                    contains("bfloat16 in a bucket of float64"));
}

TEST_CASE("ddp: communication begins before the last gradient is there, and is not waited for") {
  Journal journal;
  ScriptedGroup group(journal);
  CpuDevice device;
  Sums model({1, 2, 4, 8}, device);
  for (Parameter& parameter : model.all) {  // before the wrap, so that it is heard first
    parameter.hooks.emplace_back([&](Parameter& p) { journal.push_back("final " + p.name); });
  }
  ddp::Options options;
  options.limits = {1, 1};  // a bucket each
  ddp::Ddp wrapped(model, group, options);
  pass(wrapped, 1, device);
  journal.clear();
  model.zero_grad();
  pass(wrapped, 1, device);
  CHECK(journal == Journal{"start 1",  // who lacks a gradient, and the loss if there is one
                           "final p3", "start 8", "final p2", "start 4", "final p1", "start 2",
                           "final p0", "start 1", "wait 8", "wait 4", "wait 2", "wait 1",
                           "wait 1"});
  // Each of the four ran for an hour, says the group; the rank waited for an instant.
  CHECK(wrapped.communication().total_s == 4 * 3600);
  CHECK(wrapped.communication().hidden().value() > 0.99);
}

TEST_CASE("ddp: a reduction that runs in the caller's thread hides nothing") {
  double hidden = -1;
  test::on_ranks(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Sums model({1000}, device);
    ddp::Ddp wrapped(model, group);
    LOCKSTEP_EXPECT(!wrapped.communication().hidden().has_value());
    pass(wrapped, 1, device);
    if (group.rank() == 0) hidden = wrapped.communication().hidden().value();
  });
  CHECK(hidden == 0);
}

TEST_CASE("reducer: backward makes gradients in the buckets, until the reducer ends") {
  Journal journal;
  ScriptedGroup group(journal);
  CpuDevice device;
  Sums model({3, 5}, device);
  const auto hook = collectives::make_sum_hook();
  auto reducer =
      ddp::make_bucketed_reducer(group, model.parameters(), plan_of({{1, 0}}), {0.5, hook.get()});
  pass(model, 4, device);
  const Tensor first = model.all[0].grad;
  CHECK(first.same_place(model.all[0].grad_place));
  CHECK(first.raw_bytes().data() == model.all[1].grad.raw_bytes().data() + 5 * sizeof(double));
  pass(model, 2, device);
  CHECK(first.item() == 6);
  model.zero_grad();
  pass(model, 1, device);
  CHECK(model.all[0].grad.same_place(first));
  CHECK(model.grad(0) == 1);  // and nothing of the 6

  reducer.reset();
  CHECK_FALSE(model.all[0].grad_place.defined());
  CHECK(model.grad(0) == 1);
  model.zero_grad();
  pass(model, 7, device);
  CHECK_FALSE(model.all[0].grad.same_place(first));
  CHECK(first.item() == 1);
}
