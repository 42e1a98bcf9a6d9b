// bench-train: one process, one thread, one model, trained on a fixed batch; prints one JSON object
// with its speed, its memory and its loss. Started by the launcher it is one rank of several, each
// with a batch of its own and one thread for what it computes, and shares gradients as DDP or as
// Horovod does, or the state as FSDP does; with --way tp, ranks share each layer and have one
// batch. Rank 0 prints. The training benchmark (bench.cpp) alternates it with
// tests/bench/torch_train.py, which builds the same model with the same first weights and trains on
// the same batches, so the losses must agree too.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/host_products.hpp"
#include "engine/apps/program.hpp"
#include "engine/apps/ranks.hpp"
#include "engine/base/options.hpp"
#include "engine/base/random.hpp"
#include "engine/nn/model_spec.hpp"
#include "engine/optim/optimizer_spec.hpp"
#include "engine/parallel/ddp/ddp.hpp"
#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/replicas/agree.hpp"
#include "engine/tensor/kernels.hpp"

namespace {

using namespace lockstep;

// The numbers in [0, 1) that both sides draw: a stream by its name (FNV-1a), then by index.
std::vector<double> numbers(const std::string& name, std::int64_t count) {
  std::uint64_t stream = 0xcbf29ce484222325ULL;
  for (const unsigned char byte : name) stream = (stream ^ byte) * 0x100000001b3ULL;
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = random_uniform(stream, i);
  return drawn;
}

// Matrices uniform in ±1/√columns; of the rest, weights (of norms) 1 and biases 0.
void set_weights(nn::Module& model) {
  for (const Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value;
    if (value.shape().size() < 2) {
      value.fill_(parameter->name.ends_with("weight") ? 1 : 0);
      continue;
    }
    std::vector<double> drawn = numbers(parameter->name, value.numel());
    const double bound = 1 / std::sqrt(static_cast<double>(value.size(1)));
    for (double& number : drawn) number = (2 * number - 1) * bound;
    value.copy_(from_values(drawn, value.shape(), value.dtype(), value.device()));
  }
}

Tensor integers(const std::vector<double>& drawn, double below, Device& device) {
  return written_by_host({static_cast<std::int64_t>(drawn.size())}, DType::int64, device,
                         MemoryKind::buffers, [&](const Tensor& out) {
                           std::ranges::transform(
                               drawn, out.data<std::int64_t>().begin(), [&](double number) {
                                 return static_cast<std::int64_t>(number * below);
                               });
                         });
}

struct Task {
  nn::ModelSpec spec;
  optim::OptimizerSpec rule;
  std::unique_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor inputs, labels;
  std::int64_t steps;  // of a repetition, unless the caller says otherwise
};

// The stream of a rank's batch; rank 0's is that of a single process.
std::string of_rank(const std::string& name, int rank) {
  return rank == 0 ? name : text(name, " ", rank);
}

Task make_mlp_task(int rank, DType dtype, Device& device) {
  Task task;
  task.spec.widths = {784, 1024, 1024, 10};
  task.rule.sgd = {.learning_rate = 0.05};
  task.inputs = from_values(numbers(of_rank("inputs", rank), 64 * 784), {64, 784}, dtype, device);
  task.labels = integers(numbers(of_rank("labels", rank), 64), 10, device);
  task.steps = 100;
  return task;
}

Task make_gpt_task(const nn::GptOptions& options, std::int64_t batch, std::int64_t steps, int rank,
                   Device& device) {
  Task task;
  task.spec.kind = nn::ModelKind::gpt;
  task.spec.gpt = options;
  task.rule.kind = optim::OptimizerKind::adamw;
  task.rule.adam = {.learning_rate = 3e-4, .weight_decay = 0.01};
  // Every token but a text's last predicts the next one.
  const std::int64_t length = options.sequence + 1;
  const std::vector<double> text = numbers(of_rank("tokens", rank), batch * length);
  std::vector<double> before, after;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % length;
    if (place < length - 1) before.push_back(text[i]);
    if (place > 0) after.push_back(text[i]);
  }
  const auto vocabulary = static_cast<double>(options.vocabulary);
  task.inputs = integers(before, vocabulary, device).view({batch, options.sequence});
  task.labels = integers(after, vocabulary, device).view({batch, options.sequence});
  task.steps = steps;
  return task;
}

Task task_of(const std::string& model, int rank, DType dtype, Device& device) {
  if (model == "mlp") return make_mlp_task(rank, dtype, device);
  nn::GptOptions options{.vocabulary = 256, .head = nn::OutputHead::untied};
  if (model == "gpt-small") return make_gpt_task(options, 16, 20, rank, device);
  if (model == "gpt") {
    options.layers = 6;
    options.width = 384;
    options.heads = 6;
    options.sequence = 256;
    return make_gpt_task(options, 8, 2, rank, device);
  }
  // GPT-2's smallest size [RWC19]: 124,439,808 parameters.
  options = {.layers = 12, .width = 768, .heads = 12, .sequence = 1024, .vocabulary = 50'257};
  return make_gpt_task(options, 8, 5, rank, device);
}

Task make_task(const std::string& model, int rank, DType dtype, Device& device) {
  Task task = task_of(model, rank, dtype, device);
  task.spec.dtype = dtype;
  task.model = nn::make_model(task.spec, device, 0);
  task.optimizer = optim::make_optimizer(task.rule, task.model->parameters());
  return task;
}

// How the ranks share gradients, or the state; on one rank there is nobody to share with.
class Sharing {
 public:
  // Wraps the task's model, or its optimizer, or takes the place of both.
  Sharing(const std::string& way, Task& task, comm::ProcessGroup& group, Strands& strands)
      : task_(task) {
    if (group.size() == 1) return;
    name_ = way == "horovod" ? ", by Horovod"
            : way == "fsdp"  ? ", by FSDP"
            : way == "tp"    ? ", by tensor parallelism"
                             : ", by DDP";
    if (way == "fsdp") {
      shard(group);
    } else if (way == "tp") {
      split_layers(group);
    } else if (way == "ddp") {
      ddp_.emplace(*task.model, group);
    } else {
      queue(group, strands);
    }
  }

  nn::Module& model() {
    return ddp_ ? static_cast<nn::Module&>(*ddp_) : units_ ? units_->model() : *task_.model;
  }
  void begin_step() {
    if (!units_) return task_.optimizer->zero_grad();
    units_->zero_grad();
    units_->begin(zero::Reduces::yes);
  }
  void end_backward() {
    if (units_) units_->end_backward();
  }
  void end_update() {
    if (units_) units_->end_update();
  }
  const std::string& name() const { return name_; }
  // After each step that is measured.
  void count() {
    if (ddp_) seen_ += ddp_->communication();
    if (units_) seen_ += units_->communication();
    if (horovod_ == nullptr) return;
    const collectives::Communication now = horovod_->figures().communication;
    seen_ += {now.total_s - before_.total_s, now.exposed_s - before_.exposed_s};
    before_ = now;
  }
  // Steps are measured from now on.
  void begin() {
    if (horovod_ != nullptr) before_ = horovod_->figures().communication;
  }
  const collectives::Communication& seen() const { return seen_; }
  // Before the ranks leave each other.
  void end() {
    if (horovod_ != nullptr) task_.optimizer.reset();
    horovod_ = nullptr;
  }

 private:
  void queue(comm::ProcessGroup& group, Strands& strands) {
    replicas::make_equal(group, *task_.model);
    auto wrapped = horovod::make_distributed_optimizer(std::move(task_.optimizer), group,
                                                       {.strands = &strands});
    horovod_ = wrapped.get();
    task_.optimizer = std::move(wrapped);
  }

  // The whole model and its optimizer go; shards begin with the same weights.
  void shard(comm::ProcessGroup& group) {
    Device& device = task_.model->parameters().front()->value.device();
    units_ = std::make_unique<zero::ShardedUnits>(task_.spec, 0, device, zero::ShardGroups{group},
                                                  zero::ShardingOptions{});
    units_->fill([&](const std::string& name, std::int64_t begin, const Tensor& into) {
      const auto parameters = task_.model->parameters();
      const auto whole = std::ranges::find(parameters, name, &Parameter::name);
      into.copy_((*whole)->value.view({-1}).narrow(begin, into.numel()));
    });
    task_.optimizer = optim::make_optimizer(task_.rule, units_->shards());
    task_.model.reset();
  }

  // Each rank takes its share of every layer out of the whole model, which goes.
  void split_layers(comm::ProcessGroup& group) {
    layers_ =
        std::make_shared<tensor_parallel::TensorLayers>(group, tensor_parallel::Sequence::whole);
    nn::ModelSpec split = task_.spec;
    split.layers = layers_;
    auto shares = nn::make_model(split, task_.inputs.device(), 0);
    const auto whole = task_.model->parameters(), mine = shares->parameters();
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Boxes boxes = layers_->holding_of(*mine[i]).boxes;
      mine[i]->value.view({-1}).narrow(0, numel_of(boxes)).copy_(cut(whole[i]->value, boxes));
    }
    task_.optimizer = optim::make_optimizer(task_.rule, mine);
    task_.model = std::move(shares);
  }

  Task& task_;
  std::string name_;
  std::shared_ptr<const nn::LayerMaker> layers_;
  std::unique_ptr<zero::ShardedUnits> units_;
  std::optional<ddp::Ddp> ddp_;
  horovod::DistributedOptimizer* horovod_ = nullptr;  // the task's
  collectives::Communication seen_, before_;
};

// The loss is not waited for.
Tensor one_step(const Task& task, Sharing& sharing) {
  sharing.begin_step();
  Tape tape(GradMode::record);
  const Value logits = sharing.model().forward(tape, tape.constant(task.inputs));
  const Value loss = autograd::cross_entropy(tape, logits, task.labels);
  tape.backward(loss);
  sharing.end_backward();
  task.optimizer->step();
  sharing.end_update();
  return loss.tensor;
}

// Since the machine started, as Python's time.monotonic() counts.
double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int run(int argc, const char* const* argv) {
  Options options("bench-train", "Trains one model on one thread and prints its speed as JSON.");
  options.choice("model", {"mlp", "gpt-small", "gpt", "gpt-124m"}, "mlp", "what to train")
      .choice("dtype", {"float32", "bfloat16"}, "float32",
              "type of parameters, optimizer state and inputs")
      .option("steps", "", "steps per repetition")
      .option("repetitions", "3", "repetitions; each gives one rate")
      .option("warmup", "5", "steps before the first repetition")
      .choice("backend", {"gloo", "nccl"}, "gloo", "nccl: each rank has a GPU")
      .choice("way", {"ddp", "horovod", "fsdp", "tp"}, "ddp",
              "how ranks share gradients, the state, or the layers of a GPT");
  apps::add_device(options);
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const bool nccl = arguments.has("--backend nccl");
  const apps::Computing computing(arguments, nccl ? apps::seat_of_process() : apps::Seat{});
  Device& device = computing.device();
  const apps::Ranks world = nccl ? apps::join_gpus(device) : apps::join_ranks();
  const DType dtype = arguments.has("--dtype bfloat16") ? DType::bfloat16 : DType::float32;
  const int rank = world.group->rank(), ranks = world.group->size();
  if (ranks > 1 && !device.on_host() && !nccl) {
    throw UsageError("--device cuda computes on one GPU: several ranks need --backend nccl");
  }
  const auto strands = make_thread_strands();
  const bool tp = arguments.has("--way tp");
  if (tp && arguments.has("--model mlp")) {
    throw UsageError("--way tp splits the layers of a GPT; pass --model gpt-small or gpt");
  }
  Task task = make_task(arguments.get("model"), tp ? 0 : rank, dtype, device);
  const double ready_at_s = now_s();
  set_weights(*task.model);
  const std::int64_t parameters = nn::count_of(*task.model);
  Sharing sharing(arguments.get("way"), task, *world.group, *strands);
  const std::int64_t steps =
      arguments.get("steps").empty() ? task.steps : arguments.integer("steps", 1);
  const std::int64_t repetitions = arguments.integer("repetitions", 1);
  const std::int64_t warmup = arguments.integer("warmup", 1);

  const double first_loss = number_of(one_step(task, sharing));
  double early_loss = first_loss;
  for (std::int64_t i = 1; i < warmup; ++i) early_loss = number_of(one_step(task, sharing));
  std::vector<double> rates, processor_rates;
  double last_loss = 0;
  sharing.begin();
  for (std::int64_t i = 0; i < repetitions; ++i) {
    world.group->barrier();
    const double began = now_s(), processor_began = processor_s();
    Tensor loss;
    for (std::int64_t k = 0; k < steps; ++k) {
      loss = one_step(task, sharing);
      sharing.count();
    }
    const double loss_of_repetition = number_of(loss);  // waits for all its steps
    if (i == 0) last_loss = loss_of_repetition;  // later ones differ by more and more rounding
    rates.push_back(static_cast<double>(steps) / (now_s() - began));
    processor_rates.push_back(static_cast<double>(steps) / (processor_s() - processor_began));
  }
  sharing.end();
  world.leave();
  if (rank != 0) return 0;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::string connected =
      ranks > 1 ? text(", ", ranks, " ranks over ", world.group->backend(), sharing.name())
                : std::string();
  const std::string on_gpu = device.on_host() ? std::string() : text(device.name(), ", ");
  const std::string isa =
      device.on_host() ? text(", vectors by ", name_of(apps::host_isa())) : std::string();
  nlohmann::ordered_json json{
      {"program", "Lockstep"},
      {"model", arguments.get("model")},
      {"parameters", parameters},
      {"dtype", name_of(dtype)},
      {"steps_per_s", rates},
      {"steps_per_cpu_s", processor_rates},
      {"peak_rss_bytes", usage.ru_maxrss * 1024},
      {"ready_at_s", ready_at_s},
      {"first_loss", first_loss},
      {"early_loss", early_loss},
      {"last_loss", last_loss},
      {"how", text(on_gpu, "products by ", device.kernels().name(), isa, connected)}};
  if (const auto hidden = sharing.seen().hidden()) json["hidden"] = *hidden;
  std::cout << json.dump() << "\n";
  return computing.ends_well() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("bench-train", [&] { return run(argc, argv); });
}
