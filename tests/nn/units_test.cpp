// A model cut into units: whoever holds some of them has the numbers of the whole.
#include "engine/nn/units.hpp"

#include <vector>

#include "engine/nn/model_spec.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;

namespace {

nn::ModelSpec gpt_spec(nn::OutputHead head) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 3, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11};
  spec.gpt.head = head;
  spec.gpt.dropout = 0.25;
  return spec;
}

nn::ModelSpec mlp_spec() {
  nn::ModelSpec spec;
  spec.dtype = DType::float64;
  spec.widths = {6, 9, 7, 4};
  return spec;
}

Tensor input_of(const nn::ModelSpec& spec, Device& device) {
  std::vector<double> values;
  if (spec.kind == nn::ModelKind::mlp) {
    for (int i = 0; i < 5 * 6; ++i) values.push_back(0.1 * (i % 7) - 0.3);
    return from_values(values, {5, 6}, DType::float64, device);
  }
  for (int i = 0; i < 2 * 6; ++i) values.push_back((5 * i + 3) % 11);
  return from_values(values, {2, 6}, DType::int64, device);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.raw_bytes(), b.raw_bytes());
}

std::vector<nn::ModelSpec> all_specs() {
  return {mlp_spec(), gpt_spec(nn::OutputHead::tied), gpt_spec(nn::OutputHead::untied)};
}

constexpr nn::Occasion occasion{nn::Mode::training, 5, 2, 1, 2};

// The logits' own gradient, so that every logit counts otherwise.
Tensor weights_like(const Tensor& logits) {
  std::vector<double> values(static_cast<std::size_t>(logits.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.01 * static_cast<double>(i % 13);
  return from_values(values, logits.shape(), DType::float64, logits.device());
}

}  // namespace

TEST_CASE("units: names, in the order in which they run") {
  CpuDevice device;
  const auto names = [&](const nn::ModelSpec& spec) {
    std::vector<std::string> found;
    const auto model = nn::make_units(spec, device, 1, {0, nn::unit_count(spec)});
    for (const nn::Unit& unit : model->units()) found.push_back(unit.name);
    return found;
  };
  CHECK(names(mlp_spec()) == std::vector<std::string>{"0", "1", "2"});
  CHECK(names(gpt_spec(nn::OutputHead::tied)) ==
        std::vector<std::string>{"embedding", "h.0", "h.1", "h.2", "head"});
}

TEST_CASE("units: made in two parts anywhere, a model has its numbers, logits and gradients") {
  CpuDevice device;
  for (const nn::ModelSpec& spec : all_specs()) {
    const auto whole = nn::make_model(spec, device, 7);
    whole->prepare(occasion);
    Tape tape(GradMode::record);
    const Value logits = whole->forward(tape, tape.constant(input_of(spec, device)));
    tape.backward(logits, weights_like(logits.tensor));
    for (std::int64_t cut = 0; cut <= nn::unit_count(spec); ++cut) {
      CAPTURE(static_cast<int>(spec.kind), cut);
      const auto first = nn::make_units(spec, device, 7, {0, cut});
      const auto second = nn::make_units(spec, device, 7, {cut, nn::unit_count(spec) - cut});
      first->prepare(occasion);
      second->prepare(occasion);
      Tape before(GradMode::record), after(GradMode::record);
      const Value middle = first->forward(before, before.constant(input_of(spec, device)));
      // Tokens have no gradient: a part that begins with them takes them as a constant.
      const Value entered = cut == 0 ? after.constant(middle.tensor) : after.input(middle.tensor);
      const Value end = second->forward(after, entered);
      REQUIRE(same_bits(end.tensor, logits.tensor));
      if (cut == nn::unit_count(spec)) {
        before.backward(middle, weights_like(end.tensor));
      } else {
        after.backward(end, weights_like(end.tensor));
        if (cut > 0) before.backward(middle, after.gradient_of(entered));
      }
      // A tied weight is held by both parts; its gradients add up to the whole's.
      for (const Parameter* expected : whole->parameters()) {
        CAPTURE(expected->name);
        Tensor sum;
        int holders = 0;
        for (const auto* part : {&first, &second}) {
          for (const Parameter* mine : (*part)->parameters()) {
            if (mine->name != expected->name) continue;
            ++holders;
            CHECK(same_bits(mine->value, expected->value));
            if (sum.defined()) sum.reduce_(mine->grad, ReduceOp::sum);
            if (!sum.defined()) sum = mine->grad.clone();
          }
        }
        const bool tied = spec.kind == nn::ModelKind::gpt &&
                          spec.gpt.head == nn::OutputHead::tied && expected->name == "wte.weight";
        const bool apart = cut > 0 && cut < nn::unit_count(spec);
        CHECK(holders == (tied && apart ? 2 : 1));
        REQUIRE(sum.defined());
        for (std::int64_t i = 0; i < sum.numel(); ++i) {
          CHECK(std::abs(sum.item(i) - expected->grad.item(i)) <=
                1e-15);  // two terms, in one order
        }
      }
    }
  }
}

TEST_CASE("units: each block drops other elements, the same wherever the block lies") {
  CpuDevice device;
  const nn::ModelSpec spec = gpt_spec(nn::OutputHead::tied);
  const Tensor x = full({2, 6, 8}, 1, DType::float64, device);
  // Blocks with the same weights differ by what they drop, and by nothing else.
  const auto through = [&](std::int64_t unit, nn::Mode mode) {
    const auto block = nn::make_units(spec, device, 7, {unit, 1});
    for (Parameter* p : block->parameters()) p->value.fill_(0.1);
    nn::Occasion of_pass = occasion;
    of_pass.mode = mode;
    block->prepare(of_pass);
    Tape tape(GradMode::inference);
    return block->forward(tape, tape.constant(x)).tensor;
  };
  CHECK(same_bits(through(1, nn::Mode::evaluation), through(2, nn::Mode::evaluation)));
  CHECK(same_bits(through(1, nn::Mode::training), through(1, nn::Mode::training)));
  CHECK_FALSE(same_bits(through(1, nn::Mode::training), through(2, nn::Mode::training)));
  CHECK_FALSE(same_bits(through(2, nn::Mode::training), through(3, nn::Mode::training)));
}

TEST_CASE("units: a range that the model does not have is refused") {
  CpuDevice device;
  for (const nn::UnitRange& range :
       {nn::UnitRange{-1, 1}, {0, 4}, {3, 1}, {1, INT64_MAX}, {0, -1}}) {
    CHECK_THROWS_AS(nn::make_units(mlp_spec(), device, 0, range), ContractError);
  }
  CHECK_THROWS_WITH(nn::make_units(mlp_spec(), device, 0, {2, 2}),
                    contains("units 2 to 2 + 2 of a model that has 3"));
  CHECK(nn::make_units(mlp_spec(), device, 0, {3, 0})->parameters().empty());
}

namespace {

// Keeps each unit's parameters away from the device but for the time of its passes.
class FreeingWatch final : public nn::UnitWatch {
 public:
  explicit FreeingWatch(nn::Chain& chain) : chain_(chain) {
    for (std::size_t i = 0; i < chain.units().size(); ++i) away_.emplace_back(), leave(i);
  }
  void before_forward(std::size_t unit) override { said("f", unit), come(unit); }
  void after_forward(std::size_t unit) override { said("F", unit), leave(unit); }
  void before_backward(std::size_t unit) override { said("b", unit), come(unit); }
  void after_backward(std::size_t unit) override { said("B", unit), leave(unit); }

  std::string order;
  std::int64_t bytes_max = 0;  // of parameters, during a pass

 private:
  void said(const char* what, std::size_t unit) { order += text(what, unit, " "); }
  void come(std::size_t unit) {
    const auto parameters = chain_.units()[unit].module->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i]->value = away_[unit][i].clone(MemoryKind::parameters);
      bytes_max =
          std::max(bytes_max, parameters[i]->value.device().bytes_now(MemoryKind::parameters));
    }
  }
  void leave(std::size_t unit) {
    away_[unit].clear();
    for (Parameter* parameter : chain_.units()[unit].module->parameters()) {
      away_[unit].push_back(parameter->value.clone());
      parameter->value = {};
    }
  }

  nn::Chain& chain_;
  std::vector<std::vector<Tensor>> away_;
};

}  // namespace

TEST_CASE("units: one that is freed between its passes is free, and gradients keep their bits") {
  CpuDevice device;
  for (nn::ModelSpec spec : {mlp_spec(), gpt_spec(nn::OutputHead::untied)}) {
    for (const nn::Keep keep : {nn::Keep::activations, nn::Keep::block_inputs}) {
      spec.gpt.keep = keep;
      const auto expected = nn::make_units(spec, device, 4, {0, nn::unit_count(spec)});
      const auto model = nn::make_units(spec, device, 4, {0, nn::unit_count(spec)});
      std::int64_t largest = 0;
      for (const nn::Unit& unit : model->units()) {
        largest = std::max(largest, nn::count_of(*unit.module) * 8);
      }
      const std::int64_t of_expected = nn::count_of(*expected) * 8;
      FreeingWatch watch(*model);
      model->tell(&watch);
      for (nn::Chain* chain : {expected.get(), model.get()}) {
        chain->prepare(occasion);
        Tape tape(GradMode::record);
        const Value y = chain->forward(tape, tape.constant(input_of(spec, device)));
        if (chain == model.get()) {
          CHECK(device.bytes_now(MemoryKind::parameters) == of_expected);
        }
        tape.backward(y, weights_like(y.tensor));
      }
      CHECK(watch.bytes_max - of_expected == largest);
      const auto should = expected->parameters(), is = model->parameters();
      for (std::size_t i = 0; i < is.size(); ++i) CHECK(same_bits(is[i]->grad, should[i]->grad));
      CHECK(watch.order.starts_with("f0 F0 f1 F1 f2 F2 "));
      CHECK(watch.order.ends_with("b2 B2 b1 B1 b0 B0 "));
      const Tensor input = input_of(spec, device);
      watch.order.clear();
      Tape inference(GradMode::inference);
      model->forward(inference, inference.constant(input));
      CHECK(watch.order.starts_with("f0 F0 f1 F1 "));
      CHECK_FALSE(contains("b").match(watch.order));
    }
  }
}
