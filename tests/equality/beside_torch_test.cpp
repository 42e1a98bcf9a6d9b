// Sharded state and shared layers beside PyTorch's, which other people wrote: the same weights,
// batches and rules, four ranks on either side, in float64; mixed precision beside
// MixedPrecisionPolicy, up to the roundings of 16 bits. The other half is beside_torch.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/random.hpp"
#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/parallel/zero/flat_shards.hpp"
#include "engine/train/strategies/plain.hpp"
#include "engine/train/strategies/zero.hpp"
#include "tests/equality/bar.hpp"
#include "tests/equality/wrong_layers.hpp"
#include "tests/equality/wrong_shards.hpp"
#include "tests/train/fiber_ranks.hpp"
#include "tests/with_torch.hpp"

using namespace lockstep;
using tensor_parallel::Sequence;
using test::Course;
using train::AccumulateIn;
using zero::Cut;
using zero::Sharding;

namespace {

constexpr int ranks = 4, steps_max = 3;
constexpr std::int64_t batch_size = 2;
// Sums of some hundred products in another order.
constexpr double tolerance = 1e-12;

// How parameters are updated, under the name that the files of a course have.
struct Rule {
  std::string name;
  optim::OptimizerSpec optimizer;
  double clip_norm;
  std::int64_t steps;
};

std::vector<Rule> rules() {
  optim::OptimizerSpec sgd, adamw;
  sgd.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  adamw.kind = optim::OptimizerKind::adamw;
  // Some gradients are zero but for rounding (of the keys' biases); a usual epsilon of 1e-8 would
  // let that noise into the weights.
  adamw.adam = {.learning_rate = 1e-3, .epsilon = 1e-6, .weight_decay = 0.01};
  return {{"gradients of step 1", test::first_gradients(1, 0).optimizer, 0, 1},
          {"3 steps of SGD", sgd, 0, steps_max},
          {"3 clipped steps of AdamW", adamw, 0.5, steps_max}};
}

constexpr std::int64_t tokens = 8, vocabulary = 61;

nn::ModelSpec gpt_of(std::int64_t width, std::int64_t heads, DType dtype = DType::float64) {
  nn::ModelSpec spec;
  spec.kind = nn::ModelKind::gpt;
  spec.dtype = dtype;
  spec.gpt = {
      .layers = 2, .width = width, .heads = heads, .sequence = tokens, .vocabulary = vocabulary};
  return spec;
}
// Rows do not divide by four, so that ranks have unequal shares.
nn::ModelSpec small_gpt(DType dtype = DType::float64) { return gpt_of(30, 3, dtype); }
// Four ranks share its heads, but not the rows of its vocabulary, evenly.
nn::ModelSpec split_gpt() { return gpt_of(32, 4); }

data::Batch batch_of(std::int64_t step, int rank, Device& device) {
  std::array<std::vector<double>, 2> drawn;  // inputs, and what follows each
  for (std::int64_t row = 0; row < batch_size; ++row) {
    const auto place = [&](std::int64_t column) {
      return static_cast<std::uint64_t>(((step * ranks + rank) * batch_size + row) * 100 + column);
    };
    for (std::int64_t column = 0; column < tokens; ++column) {
      for (std::int64_t next : {0, 1}) {
        const double uniform = random_uniform(5, place(column + next));
        drawn[static_cast<std::size_t>(next)].push_back(std::floor(uniform * vocabulary));
      }
    }
  }
  const Shape shape{batch_size, tokens};
  return {from_values(drawn[0], shape, DType::int64, device),
          from_values(drawn[1], shape, DType::int64, device)};
}

nlohmann::json settings_of(const optim::OptimizerSpec& spec) {
  if (spec.kind == optim::OptimizerKind::sgd) {
    return {{"lr", spec.sgd.learning_rate}, {"momentum", spec.sgd.momentum}};
  }
  return {{"lr", spec.adam.learning_rate},
          {"betas", {spec.adam.beta1, spec.adam.beta2}},
          {"eps", spec.adam.epsilon},
          {"weight_decay", spec.adam.weight_decay}};
}

// What PyTorch's side is to do.
struct Task {
  nn::ModelSpec spec;
  std::vector<Rule> rules;
  std::vector<std::string> ways;
  bool one_batch = false;  // all ranks read rank 0's

  int reader(int rank) const { return one_batch ? 0 : rank; }
};

void write_task(const std::filesystem::path& folder, const Task& of) {
  CpuDevice device;
  const nn::ModelSpec& spec = of.spec;
  const auto first = checkpoint::tensors_of(*nn::make_model(spec, device, 7));
  checkpoint::write_safetensors(folder / "first.safetensors", first);
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    std::vector<checkpoint::NamedTensor> rounded;
    for (const auto& [name, value] : first) rounded.push_back({name, value.to(dtype)});
    checkpoint::write_safetensors(folder / text("first.", name_of(dtype)), rounded);
  }
  std::vector<checkpoint::NamedTensor> batches;
  for (std::int64_t step = 0; step < steps_max; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const data::Batch batch = batch_of(step, of.reader(rank), device);
      batches.push_back({text(step, ".", rank, ".inputs"), batch.inputs});
      batches.push_back({text(step, ".", rank, ".labels"), batch.labels});
    }
  }
  checkpoint::write_safetensors(folder / "batches.safetensors", batches);
  nlohmann::json task = {{"sizes",
                          {{"layers", spec.gpt.layers},
                           {"width", spec.gpt.width},
                           {"heads", spec.gpt.heads},
                           {"tokens", spec.gpt.sequence},
                           {"vocabulary", spec.gpt.vocabulary}}}};
  task["ways"] = of.ways;
  for (const Rule& rule : of.rules) {
    const bool sgd = rule.optimizer.kind == optim::OptimizerKind::sgd;
    task["rules"].push_back({{"name", rule.name},
                             {"optimizer", sgd ? "SGD" : "AdamW"},
                             {"settings", settings_of(rule.optimizer)},
                             {"clip", rule.clip_norm},
                             {"steps", rule.steps}});
  }
  std::ofstream(folder / "task.json") << task;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) numbers.push_back(tensor.item(i));
  return numbers;
}

Course torchs_course(const std::filesystem::path& file) {
  CpuDevice device;
  const checkpoint::SafetensorsFile written(file);
  Course course;
  for (const checkpoint::TensorEntry& entry : written.tensors()) {
    std::vector<double> numbers = numbers_of(written.load(entry, device));
    if (entry.name == "losses") {
      course.losses = std::move(numbers);
      continue;
    }
    course.names.push_back(entry.name);
    course.parameters.push_back(std::move(numbers));
  }
  return course;
}

train::Recipe recipe_of(const std::filesystem::path& folder, const Task& task, const Rule& rule) {
  return {task.spec, rule.optimizer, 0, folder / "first.safetensors"};
}

// Passes in bfloat16, with masters or without.
train::Recipe mixed_recipe(const std::filesystem::path& folder, const Rule& rule,
                           const train::Precision& precision) {
  const DType weights = precision.masters.value_or(DType::bfloat16);
  train::Recipe recipe{small_gpt(DType::bfloat16), rule.optimizer, 0,
                       folder / text("first.", name_of(weights))};
  recipe.precision = precision;
  return recipe;
}

using Make = std::function<std::unique_ptr<train::Strategy>(comm::ProcessGroup& world,
                                                            Device& device, train::Recipe recipe)>;

Course our_course(const train::Recipe& recipe, const Task& task, const Rule& rule,
                  const Make& make) {
  Course course;
  test::on_fibers(ranks, [&](comm::ProcessGroup& world) {
    CpuDevice device;
    const auto strategy = make(world, device, recipe);
    std::vector<double> losses;
    for (std::int64_t step = 0; step < rule.steps; ++step) {
      const data::Batch batch = batch_of(step, task.reader(world.rank()), device);
      losses.push_back(strategy->step({&batch, 1}, {}, rule.optimizer.learning_rate()));
    }
    for (const auto& tensor : train::gather_whole(world, 0, strategy->pieces(), device)) {
      if (tensor.kind != train::PieceKind::parameter) continue;
      course.names.push_back(tensor.name);
      course.parameters.push_back(numbers_of(tensor.value));
    }
    if (world.rank() == 0) course.losses = losses;
  });
  return course;
}

Course sharded_course(const train::Recipe& recipe, const Task& task, const Rule& rule,
                      const train::ZeroOptions& options,
                      test::WrongShard fault = test::WrongShard::none) {
  std::vector<std::unique_ptr<comm::ProcessGroup>> groups;  // outlive the strategies
  return our_course(recipe, task, rule,
                    [&](comm::ProcessGroup& world, Device& device, const train::Recipe& from) {
                      groups.push_back(test::make_wrong_shards(world, fault));
                      return train::make_zero(*groups.back(), device, from, rule.clip_norm,
                                              options);
                    });
}

Course split_course(const std::filesystem::path& folder, const Task& task, const Rule& rule,
                    Sequence sequence, test::LayerFault fault = test::LayerFault::none) {
  return our_course(
      recipe_of(folder, task, rule), task, rule,
      [&](comm::ProcessGroup& world, Device& device, train::Recipe recipe) {
        const train::TrainingRanks layer(world, {.tp = ranks});
        recipe.model.layers = test::make_wrong_layers(*layer.layer(), sequence, fault);
        return train::make_plain(layer, train::make_replica(recipe, device), rule.clip_norm);
      });
}

// Runs PyTorch's side of the task, in a folder that it leaves its courses in.
void run_torch(const TemporaryFolder& folder, const Task& task) {
  write_task(folder.path(), task);
  const auto ran = test::run_with_torch(
      LOCKSTEP_ROOT, {"python", "tests/lessons/run_twins.py", "tests/equality/beside_torch.py"},
      {"LOCKSTEP_BESIDE=" + folder.path().string()});
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  REQUIRE(nlohmann::json::parse(ran.output).at(0).at("exit_code") == 0);
}

void check_beside(const std::string& pair, const Rule& rule, const Course& ours,
                  const Course& theirs) {
  const test::Distance apart = distance(ours, theirs);
  std::cout << pair << ", " << rule.name << ": losses " << apart.loss << " apart, parameters "
            << apart.parameter << std::endl;
  INFO(pair << ", " << rule.name << ", worst: " << apart.worst);
  CHECK(apart.loss <= tolerance);
  CHECK(apart.parameter <= tolerance);
}

// A way of PyTorch's, and one of ours that computes the same.
struct Pair {
  std::string torchs, ours;
  train::ZeroOptions options;
};

std::vector<Pair> pairs() {
  return {
      {"ZeroRedundancyOptimizer", "ZeRO 1", {{Sharding::zero_1, 0}, AccumulateIn::whole}},
      {"ZeroRedundancyOptimizer", "ZeRO 2", {{Sharding::zero_2, 0}}},
      {"fully_shard", "full_shard by rows", {{Sharding::full_shard, 1, Cut::rows}}},
      {"fully_shard", "full_shard", {{Sharding::full_shard, 1}}},
      {"fully_shard, kept for backward",
       "shard_grad_op by rows",
       {{Sharding::shard_grad_op, 1, Cut::rows}}},
      {"fully_shard, 2 x 2",
       "hybrid_shard of 2 by rows",
       {{Sharding::full_shard, 1, Cut::rows}, {}, 2}},
  };
}

// Each rank's rows by our plan are those that PyTorch gave it.
void check_rows(const std::filesystem::path& folder) {
  CpuDevice device;
  const auto model = nn::make_model(small_gpt(), device, 0);
  std::ifstream file(folder / "rows.json");
  const auto of_ranks = nlohmann::json::parse(file);
  REQUIRE(of_ranks.size() == ranks);
  for (const Parameter* parameter : model->parameters()) {
    const Shape shapes[] = {parameter->value.shape()};
    const zero::FlatShards plan = zero::row_shards(shapes, ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::int64_t elements = 0;
      for (const zero::ShardPiece& piece : plan.ranks[rank]) elements += piece.end - piece.begin;
      const std::int64_t row = numel_of(shapes[0]) / shapes[0].front();
      CAPTURE(parameter->name, rank);
      CHECK(of_ranks[rank].at(parameter->name) == elements / row);
    }
  }
}

// How far a course's parameters have moved since `first`.
Course moves(Course course, const Course& first) {
  for (std::size_t p = 0; p < course.names.size(); ++p) {
    const auto at = std::ranges::find(first.names, course.names[p]) - first.names.begin();
    const std::vector<double>& began = first.parameters.at(static_cast<std::size_t>(at));
    for (std::size_t i = 0; i < began.size(); ++i) course.parameters[p][i] -= began[i];
  }
  return course;
}

// Both sides round each activation and each gradient to 8 bits, but not at the same places: a
// gradient has some ten operations behind it, there and back, each of which may be half a last
// place off. Moves are compared, and not weights, which are a hundred times as large.
constexpr double of_moves = 16 * 0x1p-9;
// A loss is float32, but made of logits that are rounded.
constexpr double of_mixed_losses = 1e-4;

// PyTorch's way with masters, whose gradients travel in this type.
std::string mixed(DType reduce) {
  return text("fully_shard, bfloat16", reduce == DType::float32 ? ", reduced in float32" : "");
}

void check_masters(const std::filesystem::path& folder, const Task& task) {
  const Course first = torchs_course(folder / "first.float32");
  const train::ZeroOptions by_rows{{Sharding::full_shard, 1, Cut::rows}};
  for (const DType reduce : {DType::bfloat16, DType::float32}) {
    const std::string torchs = mixed(reduce);
    const train::Precision masters{.masters = DType::float32, .reduce = reduce};
    for (const Rule& rule : task.rules) {
      const Course theirs = moves(torchs_course(folder / (torchs + ", " + rule.name)), first);
      const auto apart_of = [&](const train::Precision& precision,
                                test::WrongShard fault = test::WrongShard::none) {
        const train::Recipe recipe = mixed_recipe(folder, rule, precision);
        return distance(moves(sharded_course(recipe, task, rule, by_rows, fault), first), theirs);
      };
      const test::Distance apart = apart_of(masters);
      std::cout << "masters beside " << torchs << ", " << rule.name << ": losses " << apart.loss
                << " apart, moves " << apart.parameter << std::endl;
      INFO(torchs << ", " << rule.name << ", worst: " << apart.worst);
      CHECK(apart.loss <= of_mixed_losses);
      // AdamW divides by a gradient's size: where that is rounding noise, so is the move.
      if (rule.optimizer.kind == optim::OptimizerKind::adamw) continue;
      CHECK(apart.parameter <= of_moves);
      CHECK(apart_of(masters, test::WrongShard::averaged_twice).parameter > 8 * of_moves);
      if (rule.steps > 1) CHECK(apart_of({}).parameter > 8 * of_moves);  // masters are forgotten
    }
  }
}

}  // namespace

TEST_CASE("equality: sharded, PyTorch's four ways leave the engine's weights, gradients and rows") {
  if (!test::torch_is_there(LOCKSTEP_ROOT)) return;
  const TemporaryFolder folder("beside");
  Task task{small_gpt(), rules(), {}};
  for (const Pair& pair : pairs()) {
    if (std::ranges::count(task.ways, pair.torchs) == 0) task.ways.push_back(pair.torchs);
  }
  for (const DType reduce : {DType::bfloat16, DType::float32}) task.ways.push_back(mixed(reduce));
  run_torch(folder, task);
  check_rows(folder.path());
  check_masters(folder.path(), task);
  for (const Pair& pair : pairs()) {
    for (const Rule& rule : task.rules) {
      check_beside(pair.ours + " beside " + pair.torchs, rule,
                   sharded_course(recipe_of(folder.path(), task, rule), task, rule, pair.options),
                   torchs_course(folder.path() / (pair.torchs + ", " + rule.name)));
    }
  }
  // A second division by the ranks, which a clip would hide.
  const Rule sgd = task.rules[1];
  const Course wrong =
      sharded_course(recipe_of(folder.path(), task, sgd), task, sgd, {{Sharding::full_shard, 1}},
                     test::WrongShard::averaged_twice);
  const Course theirs = torchs_course(folder.path() / ("fully_shard, " + sgd.name));
  CHECK(distance(wrong, theirs).parameter > tolerance);
}

// Without a clip: PyTorch's refuses a model of which only some parameters are DTensors.
TEST_CASE("equality: layers on four ranks, DTensor's leave the engine's weights and gradients") {
  if (!test::torch_is_there(LOCKSTEP_ROOT)) return;
  const TemporaryFolder folder("beside");
  Task task{split_gpt(), rules(), {"parallelize_module"}, true};
  task.rules.back().name = "3 steps of AdamW";
  task.rules.back().clip_norm = 0;
  run_torch(folder, task);
  for (const Rule& rule : task.rules) {
    const Course theirs = torchs_course(folder.path() / ("parallelize_module, " + rule.name));
    for (const auto sequence : {Sequence::whole, Sequence::sliced}) {
      check_beside(sequence == Sequence::whole ? "tp 4" : "tp 4, sliced", rule,
                   split_course(folder.path(), task, rule, sequence), theirs);
    }
    if (rule.steps == 1) continue;  // biases begin at zero
    const Course wrong =
        split_course(folder.path(), task, rule, Sequence::whole, test::LayerFault::bias_everywhere);
    CHECK(distance(wrong, theirs).parameter > tolerance);
  }
}
