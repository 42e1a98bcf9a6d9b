// The table of parameters: pieces and padding, what is read back of a checkpoint, and what a
// strategy whose replicas are spread over ranks makes of gradients.
#include "engine/train/layout.hpp"

#include <cmath>

#include "engine/base/temporary_folder.hpp"
#include "engine/train/strategies/whole_model.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_fibers;
using mesh::Axis;
using train::Layout;
using train::ParameterPlace;

namespace {

// Parameters without a forward pass.
struct Holder final : nn::Module {
  explicit Holder(std::vector<Parameter> parameters) : all(std::move(parameters)) {}
  Value forward(Tape&, const Value& input) override { return input; }
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> pointers;
    for (Parameter& parameter : all) pointers.push_back(&parameter);
    return pointers;
  }
  std::vector<Parameter> all;
};

Tensor counted(const Shape& shape, double first, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel_of(shape); ++i) {
    values.push_back(first + static_cast<double>(i));
  }
  return from_values(values, shape, DType::float64, device);
}

std::vector<double> values_of(const Tensor& tensor) {
  const auto data = tensor.data<double>();
  return {data.begin(), data.end()};
}

// Of rank t of two along tp: columns of [2, 4]; rows of a vocabulary of 5, of which each rank has
// room for 3; and a norm, whole on both, with partial gradients.
Layout layout_of_half(std::int64_t t) {
  return Layout(
      {{"columns", {2, 4}, {{{0, 2 * t}, {2, 2 * t + 2}}}, {.copies = mesh::data_axes}},
       {"table", {5, 2}, {{{3 * t, 0}, {3 + 2 * t, 2}}}, {.copies = mesh::data_axes}},
       {"norm", {3}, whole_of({3}), {.copies = {Axis::tp, Axis::dp}, .partial = {Axis::tp}}}});
}

std::shared_ptr<Holder> half_model(Device& device) {
  const auto parameter = [&](const char* name, const Shape& shape, const Shape& whole) {
    Parameter made{name, zeros(shape, DType::float64, device), {}, {}};
    made.whole = whole;
    return made;
  };
  return std::make_shared<Holder>(std::vector<Parameter>{parameter("columns", {2, 2}, {2, 4}),
                                                         parameter("table", {3, 2}, {5, 2}),
                                                         parameter("norm", {3}, {3})});
}

std::shared_ptr<Holder> whole(Device& device) {
  return std::make_shared<Holder>(
      std::vector<Parameter>{{"columns", counted({2, 4}, 0, device), {}, {}},
                             {"table", counted({5, 2}, 100, device), {}, {}},
                             {"norm", counted({3}, 200, device), {}, {}}});
}

std::shared_ptr<optim::Optimizer> momentum(nn::Module& model) {
  optim::OptimizerSpec spec;
  spec.kind = optim::OptimizerKind::sgd;
  spec.sgd = {.learning_rate = 1, .momentum = 0.5};
  return optim::make_optimizer(spec, model.parameters());
}

// Adds up over the ranks what it is given.
struct Summing final : nn::LayerMaker {
  explicit Summing(comm::ProcessGroup& of) : group(of) {}
  void sum_partial_gradients(std::span<Parameter* const> parameters) const override {
    for (const Parameter* parameter : parameters) group.all_reduce(parameter->grad, ReduceOp::sum);
  }
  comm::ProcessGroup& group;
};

// A strategy whose gradients are given.
class Given final : public train::WholeModel {
 public:
  Given(train::TrainingRanks ranks, train::Replica replica, double clip_norm)
      : WholeModel(std::move(ranks), std::move(replica), clip_norm) {}
  double step(std::span<const data::Batch>, const nn::Occasion&, double) override {
    before_update();
    return 0;
  }
};

}  // namespace

TEST_CASE("ranks on axes: replicas differ in dp alone, in the order of ranks") {
  on_fibers(8, [](comm::ProcessGroup& world) {
    const train::TrainingRanks one_each(world);
    CHECK(&one_each.replicas() == &world);
    CHECK(one_each.share() == world.rank());
    CHECK(one_each.shares() == 8);
    const train::TrainingRanks ranks(world, {.tp = 2, .dp = 2, .pp = 2});
    CHECK(&ranks.trainers() == &world);
    CHECK(ranks.replicas().size() == 2);
    CHECK(ranks.replicas().rank() == world.rank() / 2 % 2);
    CHECK(ranks.share() == world.rank() / 2 % 2);
    const auto stages = ranks.along({Axis::pp});
    CHECK(stages->rank() == world.rank() / 4);
    CpuDevice device;
    const Tensor sum = full({1}, world.rank(), DType::int64, device);
    ranks.replicas().all_reduce(sum, ReduceOp::sum);
    CHECK(sum.item() == 2 * (world.rank() - 2 * ranks.share()) + 2);
    const train::TrainingRanks all_on_dp(world, {.dp = 8});
    CHECK(&all_on_dp.replicas() == &world);
  });
}

TEST_CASE("layout: what ranks hold in parts is read from a whole checkpoint, and makes the same") {
  const TemporaryFolder folder("layout");
  CpuDevice host;
  const auto one = whole(host);
  const auto optimizer = momentum(*one);
  for (Parameter* parameter : one->parameters()) parameter->grad = parameter->value.clone();
  optimizer->step();  // the momentum is the gradient, and the values are 0
  for (Parameter& parameter : one->all) parameter.value.copy_(parameter.grad);
  const auto saved_in = checkpoint::save(folder.path(), *one, *optimizer, {.step = 1});
  on_fibers(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const checkpoint::SavedRun saved(saved_in);
    const Layout layout = layout_of_half(group.rank());
    CHECK_FALSE(layout.is_whole());
    const auto mine = half_model(device);
    const auto my_optimizer = momentum(*mine);
    train::restore(saved, layout, *mine, *my_optimizer);
    const bool first = group.rank() == 0;
    CHECK(values_of(mine->all[0].value) ==
          (first ? std::vector<double>{0, 1, 4, 5} : std::vector<double>{2, 3, 6, 7}));
    // The last row of the second rank's table is padding.
    CHECK(values_of(mine->all[1].value) == (first
                                                ? std::vector<double>{100, 101, 102, 103, 104, 105}
                                                : std::vector<double>{106, 107, 108, 109, 0, 0}));
    const auto pieces = train::pieces_of(layout, *mine, *my_optimizer);
    CHECK(train::compare(group, pieces).differs == -1);
    const auto contents = train::gather_contents(group, 1, pieces, device, "sgd");
    if (first) return;
    REQUIRE(contents.pieces.size() == 6);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(values_of(contents.pieces[i].value) == values_of(one->all[i].value));
      CHECK(values_of(contents.pieces[3 + i].value) == values_of(one->all[i].value));
    }
  });
}

TEST_CASE("layout: a checkpoint of other sizes is refused with the whole's shape") {
  const TemporaryFolder folder("layout");
  CpuDevice device;
  Holder other({{"columns", counted({2, 2}, 0, device), {}, {}}});
  const auto saved_in = checkpoint::save(folder.path(), other, *momentum(other), {.step = 1});
  const checkpoint::SavedRun saved(saved_in);
  const auto mine = half_model(device);
  CHECK_THROWS_WITH(train::restore(saved, layout_of_half(0), *mine, *momentum(*mine)),
                    contains("\"columns\" is float64 [2, 2] in the file and float64 [2, 4] here"));
}

TEST_CASE(
    "layout: partial gradients are summed over tp, and each element counts once in the norm") {
  // The whole gradient: 8 of the columns, 10 of the table, 3 of the norm, each 1. What a rank has
  // of the norm's is 1/4 and 3/4.
  const double norm = std::sqrt(21.0);
  for (const double bound : {0.0, 100.0, norm / 2}) {
    on_fibers(4, [&](comm::ProcessGroup& world) {
      CpuDevice device;
      train::Replica replica;
      const auto mine = half_model(device);
      replica.model = mine;
      replica.optimizer = momentum(*mine);
      const train::TrainingRanks ranks(world, {.tp = 2, .dp = 2});
      const std::int64_t t = ranks.at().tp;
      replica.layout = layout_of_half(t);
      replica.layers = std::make_shared<Summing>(*ranks.layer());
      mine->all[0].grad = full({2, 2}, 1, DType::float64, device);
      mine->all[1].grad = full({3, 2}, 1, DType::float64, device);
      if (t == 1) mine->all[1].grad.view({-1}).narrow(4, 2).fill_(0);  // padding
      mine->all[2].grad = full({3}, t == 0 ? 0.25 : 0.75, DType::float64, device);
      Given strategy(ranks, replica, bound);
      CHECK(strategy.position().shares == 2);
      strategy.step({}, {}, 1);
      const double expected = bound == norm / 2 ? bound / (norm + 1e-6) : 1;
      for (const Parameter& parameter : mine->all) {
        CHECK(std::abs(parameter.grad.view({-1}).item(0) - expected) < 1e-12);
      }
    });
  }
}
