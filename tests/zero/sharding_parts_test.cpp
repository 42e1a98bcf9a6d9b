// Lesson 11's parts train a real model: the trainer has an executor of its own for these strategies
// (sharded_units.hpp), so that no run of its calls them.
#include <cmath>
#include <map>
#include <vector>

#include "engine/nn/model_spec.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/zero/fully_sharded.hpp"
#include "engine/parallel/zero/zero_1_optimizer.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::on_fibers;

namespace {

constexpr int steps = 3;

nn::ModelSpec untied_gpt() {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 2, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11};
  spec.gpt.head = nn::OutputHead::untied;
  return spec;
}

std::unique_ptr<nn::Chain> whole_model(Device& device) {
  const nn::ModelSpec spec = untied_gpt();
  return nn::make_units(spec, device, 3, {0, nn::unit_count(spec)});
}

// Other samples on each rank and in each step.
Value loss_of(nn::Chain& model, Tape& tape, int rank, int step, Device& device) {
  std::vector<double> tokens;
  for (int i = 0; i < 12; ++i) tokens.push_back((5 * i + 3 * rank + 7 * step) % 11);
  const Tensor batch = from_values(tokens, {2, 6}, DType::int64, device);
  return autograd::cross_entropy(tape, model.forward(tape, tape.constant(batch)), batch);
}

// The parameters of one device that trains on the samples of all ranks.
std::map<std::string, std::vector<double>> trained_alone(int ranks) {
  CpuDevice device;
  const auto model = whole_model(device);
  const auto adam = optim::make_adam(model->parameters(), {.learning_rate = 0.01});
  for (int step = 0; step < steps; ++step) {
    adam->zero_grad();
    for (int rank = 0; rank < ranks; ++rank) {
      Tape tape(GradMode::record);
      tape.backward(autograd::scale(tape, loss_of(*model, tape, rank, step, device), 1.0 / ranks));
    }
    adam->step();
  }
  std::map<std::string, std::vector<double>> values;
  for (const Parameter* p : model->parameters()) {
    const auto numbers = p->value.data<double>();
    values[p->name].assign(numbers.begin(), numbers.end());
  }
  return values;
}

void check_close(const Tensor& seen, const std::vector<double>& expected) {
  for (std::int64_t i = 0; i < seen.numel(); ++i) {
    CHECK(std::abs(seen.item(i) - expected[static_cast<std::size_t>(i)]) <= 1e-9);
  }
}

// A unit of which this rank keeps its range; `from` has the values.
zero::UnitShard shard_of(nn::Unit& unit, nn::Unit& from, comm::ProcessGroup& world,
                         Device& device) {
  zero::UnitShard shard;
  shard.parameters = unit.module->parameters();
  std::vector<std::int64_t> numels;
  for (const Parameter* p : shard.parameters) {
    shard.shapes.push_back(p->value.shape());
    numels.push_back(p->value.numel());
  }
  shard.cut = zero::flat_shards(numels, world.size());
  const Tensor flat = zeros({shard.cut.padded()}, DType::float64, device);
  for (std::size_t p = 0; p < numels.size(); ++p) {
    flat.narrow(shard.cut.starts[p], numels[p])
        .copy_(from.module->parameters()[p]->value.view({-1}));
    shard.parameters[p]->value = {};
  }
  shard.values = flat.narrow(world.rank() * shard.cut.shard, shard.cut.shard).clone();
  return shard;
}

}  // namespace

TEST_CASE("fully_sharded: a GPT whose units come and go trains as one device does") {
  const int ranks = GENERATE(1, 2, 3);
  const auto expected = trained_alone(ranks);
  on_fibers(ranks, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    SymbolicDevice nowhere;
    const auto made = whole_model(device), model = whole_model(nowhere);
    std::vector<zero::UnitShard> units;
    for (std::size_t u = 0; u < model->units().size(); ++u) {
      units.push_back(shard_of(model->units()[u], made->units()[u], world, device));
    }
    const auto watch = zero::make_fully_sharded(world, units, zero::Sharding::full_shard);
    model->tell(watch.get());
    std::vector<zero::AdamShard> states;
    for (const zero::UnitShard& unit : units) {
      const Tensor zero = zeros({unit.cut.shard}, DType::float64, device);
      states.push_back({zero.clone(), zero.clone(), 0});
    }
    for (int step = 0; step < steps; ++step) {
      {
        Tape tape(GradMode::record);
        tape.backward(loss_of(*model, tape, world.rank(), step, device));
      }
      for (std::size_t u = 0; u < units.size(); ++u) {
        ops::adam_update_(units[u].values, units[u].gradients, states[u].first, states[u].second,
                          {.learning_rate = 0.01}, step + 1);
        units[u].gradients = {};
      }
    }
    for (const zero::UnitShard& unit : units) {
      const Tensor whole = unit.values.empty_like(unit.cut.padded());
      world.all_gather(unit.values, whole);
      for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
        CAPTURE(unit.parameters[p]->name);
        check_close(whole.narrow(unit.cut.starts[p], numel_of(unit.shapes[p])),
                    expected.at(unit.parameters[p]->name));
      }
    }
  });
}

TEST_CASE("zero_1_optimizer: a GPT whose moments are dealt to ranks trains as one device does") {
  const int ranks = GENERATE(1, 2, 3);
  const auto expected = trained_alone(ranks);
  on_fibers(ranks, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto model = whole_model(device);
    std::vector<std::int64_t> numels;
    for (const Parameter* p : model->parameters()) numels.push_back(p->value.numel());
    const zero::FlatShards plan = zero::flat_shards(numels, ranks);
    const Tensor zero = zeros({plan.shard}, DType::float64, device);
    const auto optimizer = zero::make_zero_1_optimizer(world, model->parameters(), plan, {{}, 0},
                                                       {zero.clone(), zero.clone(), 0});
    for (int step = 0; step < steps; ++step) {
      for (Parameter* p : model->parameters()) p->grad = {};
      Tape tape(GradMode::record);
      tape.backward(loss_of(*model, tape, world.rank(), step, device));
      optimizer->step(0.01, {});
    }
    for (const Parameter* p : model->parameters()) {
      CAPTURE(p->name);
      check_close(p->value, expected.at(p->name));
    }
  });
}
