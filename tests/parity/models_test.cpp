// Whole models against PyTorch's: the first loss, its gradients, and the losses of ten steps.
#include <array>

#include "engine/nn/gpt.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "tests/catch.hpp"
#include "tests/parity/expected.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

using Tensors = std::map<std::string, Tensor>;

// expected.py's SGD and ADAMW.
std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, nn::Module& model) {
  if (name == "sgd") return optim::make_sgd(model.parameters(), {0.05, 0.9, 0.01});
  optim::AdamOptions options;
  options.learning_rate = 0.01;
  options.weight_decay = 0.01;
  return optim::make_adamw(model.parameters(), options);
}

void load_weights(nn::Module& model, const Tensors& tensors) {
  for (const Parameter* parameter : model.parameters()) {
    CAPTURE(parameter->name);
    const auto found = tensors.find("weights/" + parameter->name);
    REQUIRE(found != tensors.end());
    REQUIRE(found->second.shape() == parameter->value.shape());
    parameter->value.copy_(found->second.to(parameter->value.dtype()));
  }
}

// One training task: a model with PyTorch's first weights, and its batch at each step.
struct Task {
  std::string group, path;  // the file, and the prefix of its results
  Tensors tensors;
  std::unique_ptr<nn::Module> model;

  Value loss(Tape& tape, std::int64_t step) const {
    if (group == "mlp") {
      const Tensor x = tensors.at("x").narrow(step, 1).view({13, 7});
      const Tensor labels = tensors.at("labels").narrow(step, 1).view({13});
      const DType dtype = model->parameters().front()->value.dtype();
      return autograd::cross_entropy(tape, model->forward(tape, tape.constant(x.to(dtype))),
                                     labels);
    }
    // Every token but the last predicts the next one.
    const Tensor tokens = tensors.at("tokens").narrow(step, 1).view({3, 13});
    const Tensor inputs = empty({3, 12}, DType::int64, tokens.device());
    const Tensor labels = empty({36}, DType::int64, tokens.device());
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t t = 0; t < 12; ++t) {
        inputs.data<std::int64_t>()[12 * b + t] = tokens.data<std::int64_t>()[13 * b + t];
        labels.data<std::int64_t>()[12 * b + t] = tokens.data<std::int64_t>()[13 * b + t + 1];
      }
    }
    const Value logits = model->forward(tape, tape.constant(inputs));
    return autograd::cross_entropy(tape, autograd::view(tape, logits, {36, 40}), labels);
  }
};

Task make_task(const std::string& path, DType dtype, Device& device,
               nn::Keep keep = nn::Keep::activations) {
  Task task{path == "mlp" ? "mlp" : "gpt", path, {}, nullptr};
  task.tensors = expected(task.group, device);
  if (path == "mlp") {
    task.model = nn::make_mlp(std::array<std::int64_t, 4>{7, 16, 16, 3}, dtype, device, 0);
  } else {
    nn::GptOptions options{.layers = 2, .width = 32, .heads = 4, .sequence = 12, .vocabulary = 40};
    options.head = path == "tied" ? nn::OutputHead::tied : nn::OutputHead::untied;
    options.keep = keep;
    task.model = nn::make_gpt(options, dtype, device, 0);
  }
  load_weights(*task.model, task.tensors);
  return task;
}

// What expected.py's digest() leaves of a gradient: of a large matrix the sums of its rows, then
// those of its columns, added in float64.
Tensor digest(const Tensor& gradient) {
  if (gradient.numel() < 1000) return gradient;
  const std::int64_t rows = gradient.size(0), columns = gradient.size(1);
  std::vector<double> sums(static_cast<std::size_t>(rows + columns));
  for (std::int64_t i = 0; i < gradient.numel(); ++i) {
    sums[static_cast<std::size_t>(i / columns)] += gradient.item(i);
    sums[static_cast<std::size_t>(rows + i % columns)] += gradient.item(i);
  }
  return from_values(sums, {rows + columns}, DType::float64, gradient.device());
}

// Room for rounding. A gradient of the GPT is the end of some thirty operations, and PyTorch's own
// float32 is up to 8e-7 away. In which order a product's terms are added depends on the processor's
// vectors: ours was up to 1.03e-6 away on one of several. So twice that, 34 roundings of float32.
double tolerance(DType dtype) { return dtype == DType::float64 ? 1e-12 : 2e-6; }

const std::array paths{"mlp", "untied", "tied"};

}  // namespace

TEST_CASE("parity: the models' first loss and gradients are PyTorch's") {
  const std::string path = GENERATE(from_range(paths.begin(), paths.end()));
  const DType dtype = GENERATE(DType::float64, DType::float32);
  const nn::Keep keep = GENERATE(nn::Keep::activations, nn::Keep::block_inputs);
  CpuDevice device;
  const Task task = make_task(path, dtype, device, keep);
  Tape tape(GradMode::record);
  const Value loss = task.loss(tape, 0);
  tape.backward(loss);
  CAPTURE(path, name_of(dtype));
  CHECK(relative_error(loss.tensor, task.tensors.at(path + "/loss")) <= tolerance(dtype));
  std::map<std::string, double> errors;  // in order of names, as expected.py's
  for (const Parameter* parameter : task.model->parameters()) {
    errors[parameter->name] =
        relative_error(digest(parameter->grad), task.tensors.at(path + "/grad/" + parameter->name));
  }
  const Tensor of_torch = task.tensors.at(path + "/grad/float32");
  std::int64_t i = 0;
  for (const auto& [name, error] : errors) {
    CAPTURE(name, of_torch.item(i++));
    CHECK(error <= tolerance(dtype));
  }
}

TEST_CASE("parity: the models' losses over ten steps are PyTorch's") {
  const std::string path = GENERATE(from_range(paths.begin(), paths.end()));
  const std::string optimizer = GENERATE("sgd", "adamw");
  const DType dtype = GENERATE(DType::float64, DType::float32);
  CpuDevice device;
  const Task task = make_task(path, dtype, device);
  const auto update = make_optimizer(optimizer, *task.model);
  const Tensor truth = task.tensors.at(path + "/" + optimizer + "/losses");
  for (std::int64_t step = 0; step < truth.numel(); ++step) {
    update->zero_grad();
    Tape tape(GradMode::record);
    const Value loss = task.loss(tape, step);
    tape.backward(loss);
    update->step();
    CAPTURE(path, optimizer, name_of(dtype), step);
    CHECK(std::abs(loss.tensor.item() - truth.item(step)) <=
          tolerance(dtype) * std::abs(truth.item(0)));
  }
}
