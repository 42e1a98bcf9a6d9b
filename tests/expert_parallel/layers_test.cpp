// The layer in a model: its gradients by differences, its plans where there are no numbers, and
// what it says when a router's numbers are none.
#include <cmath>
#include <limits>

#include "engine/autograd/operations.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/parallel/expert/expert_layers.hpp"
#include "engine/tensor/symbolic.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::expert_parallel;

namespace {

nn::ModelSpec spec_with(const nn::MixtureOptions& mixture, double hot = 1) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = DType::float64;
  spec.gpt = {.layers = 2, .width = 8, .heads = 2, .sequence = 6, .vocabulary = 11};
  spec.gpt.mixture = mixture;
  spec.layers = std::make_shared<ExpertLayers>(
      ExpertRanks{}, std::make_shared<nn::LayerMaker>(),
      ExpertModel{.blocks = 2, .experts = mixture.experts, .hot = hot});
  return spec;
}

struct Samples {
  Tensor tokens, labels;
  explicit Samples(Device& device) {
    std::vector<double> drawn;
    for (std::uint64_t i = 0; i < 36; ++i) drawn.push_back(std::floor(11 * random_uniform(3, i)));
    tokens = from_values(std::span(drawn).first(18), {3, 6}, DType::int64, device);
    labels = from_values(std::span(drawn).last(18), {3, 6}, DType::int64, device);
  }
};

// The model's loss and its balancing loss, together.
double total_loss(nn::Module& model, const nn::LayerMaker& layers, const Samples& samples,
                  bool backward) {
  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(samples.tokens));
  const Value loss = autograd::cross_entropy(tape, logits, samples.labels);
  const double total = loss.tensor.item() + layers.take_routing()->aux_loss;
  if (backward) tape.backward(loss);
  return total;
}

Parameter& named(nn::Module& model, const std::string& name) {
  for (Parameter* parameter : model.parameters()) {
    if (parameter->name == name) return *parameter;
  }
  throw Error("no parameter " + name);
}

}  // namespace

TEST_CASE("expert layers: gradients are the differences of the loss and the balancing loss") {
  for (const nn::MixtureOptions& mixture :
       {nn::MixtureOptions{.experts = 4, .aux_loss = 0.3},
        nn::MixtureOptions{.experts = 4, .top_k = 2, .capacity = 0.7, .aux_loss = 0.3},
        nn::MixtureOptions{.experts = 3, .capacity = 1.5, .router = nn::Router::experts}}) {
    CpuDevice device;
    const nn::ModelSpec spec = spec_with(mixture);
    const auto model = nn::make_model(spec, device, 5);
    const Samples samples(device);
    total_loss(*model, *spec.layers, samples, true);
    for (const char* name : {"h.0.mlp.router.weight", "h.1.mlp.router.weight",
                             "h.0.mlp.experts.1.c_fc.weight", "h.1.mlp.experts.0.c_proj.bias"}) {
      Parameter& parameter = named(*model, name);
      for (const std::int64_t i : {0, 5, 7}) {
        constexpr double step = 1e-5;
        double& at = parameter.value.data<double>()[static_cast<std::size_t>(i)];
        const double before = at;
        at = before + step;
        const double above = total_loss(*model, *spec.layers, samples, false);
        at = before - step;
        const double below = total_loss(*model, *spec.layers, samples, false);
        at = before;
        CAPTURE(mixture.experts, mixture.top_k, name, i);
        CHECK(std::fabs((above - below) / (2 * step) - parameter.grad.item(i)) < 1e-8);
      }
    }
  }
}

TEST_CASE("expert layers: what routers did is told once, by block, and of training alone") {
  CpuDevice device;
  const nn::ModelSpec spec = spec_with({.experts = 4, .top_k = 2, .capacity = 0.5});
  const auto model = nn::make_model(spec, device, 5);
  const Samples samples(device);
  Tape evaluation(GradMode::inference);
  model->forward(evaluation, evaluation.constant(samples.tokens));
  CHECK(spec.layers->take_routing()->choices == 0);
  total_loss(*model, *spec.layers, samples, false);
  Tape tape(GradMode::record);
  model->forward(tape, tape.constant(samples.tokens));
  const nn::Routing told = *spec.layers->take_routing();
  CHECK(told.experts == 4);
  CHECK(told.choices == 2 * 18 * 2);
  // Capacity ⌈18 · 2 / 4 · 0.5⌉ = 5 of each of 2 · 4 experts.
  CHECK(told.dropped >= 2 * 18 * 2 - 2 * 4 * 5);
  REQUIRE(told.load.size() == 8);
  double first = 0;
  for (std::size_t e = 0; e < 4; ++e) first += told.load[e];
  CHECK(first == 18 * 2);
  CHECK(told.imbalance() >= 1);
}

TEST_CASE(
    "expert layers: without numbers, tokens are dealt evenly, or the fullest gets its share") {
  for (const double hot : {1.0, 2.0}) {
    SymbolicDevice nowhere;
    const nn::ModelSpec spec = spec_with({.experts = 4, .top_k = 2}, hot);
    const auto model = nn::make_model(spec, nowhere, 5);
    Tape tape(GradMode::record);
    const Value logits = model->forward(tape, tape.constant(empty({3, 6}, DType::int64, nowhere)));
    tape.backward(autograd::sum(tape, logits));
    const nn::Routing told = *spec.layers->take_routing();
    CAPTURE(hot, told.load);
    CHECK(told.load[0] == hot * 9);
    for (std::size_t e = 1; e < 4; ++e) CHECK(told.load[e] == (36 - hot * 9) / 3);
    CHECK(told.dropped == 0);
  }
}

TEST_CASE("expert layers: logits may be large, and NaN is told with layer and token") {
  CpuDevice device;
  const nn::ModelSpec spec = spec_with({.experts = 4});
  const auto model = nn::make_model(spec, device, 5);
  const Samples samples(device);
  Parameter& router = named(*model, "h.1.mlp.router.weight");
  router.value.scale_(1e6);
  CHECK(std::isfinite(total_loss(*model, *spec.layers, samples, true)));
  router.value.data<double>()[2 * 8] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(total_loss(*model, *spec.layers, samples, false),
                    test::contains("h.1.mlp: the router's logit of token 0 for expert 2 is nan"));
}

TEST_CASE("expert layers: a model without them is counted and saved, and routes nothing") {
  CpuDevice device;
  nn::ModelSpec spec = spec_with({.experts = 4, .top_k = 2, .capacity = 1.25, .aux_loss = 0.01});
  const std::int64_t count = nn::count_of(*nn::make_model(spec, device, 5));
  spec.layers = nullptr;
  const auto model = nn::make_model(spec, device, 5);
  CHECK(nn::count_of(*model) == count);
  const Samples samples(device);
  Tape tape(GradMode::record);
  CHECK_THROWS_WITH(model->forward(tape, tape.constant(samples.tokens)),
                    test::contains("h.0.mlp.router.weight routes nothing"));
  const nn::ModelSpec read = nn::spec_of(nn::metadata_of(spec));
  CHECK(read.gpt.mixture == spec.gpt.mixture);
  spec.gpt.mixture = {.experts = 2, .capacity = 1, .router = nn::Router::experts};
  CHECK(nn::spec_of(nn::metadata_of(spec)).gpt.mixture == spec.gpt.mixture);
  auto wrong = nn::metadata_of(spec);
  wrong["capacity"] = "0";
  CHECK_THROWS_WITH(nn::spec_of(wrong), test::contains("capacity = '0', expected none"));
}
