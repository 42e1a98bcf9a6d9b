// train: trains a model on one rank, or as one of several that the launcher started. Called with
// --ranks N outside the launcher, it launches itself. Only what the options name is built.
#include <unistd.h>

#include <array>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/comm/gloo.hpp"
#include "engine/comm/solo_group.hpp"
#include "engine/comm/tcp_store.hpp"
#include "engine/data/dataset.hpp"
#include "engine/launch/environment.hpp"
#include "engine/launch/launcher.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/train/json_log.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/progress.hpp"

namespace {

using namespace lockstep;

constexpr int ranks_max = 4096;
constexpr std::array<std::int64_t, 2> hidden_widths{256, 128};

Options declared() {
  Options options("lab train",
                  "Trains a model; every rank holds a replica and reads its own samples.");
  options.choice("model", {"mlp"}, "mlp", "what to train")
      .choice("data", {"fashion-mnist", "synthetic"}, "fashion-mnist", "what to train on")
      .option("data-folder", data::fashion_mnist_folder, "where the files of fashion-mnist are")
      .option("ranks", "1", "processes that train together")
      .choice("backend", {"gloo"}, "gloo", "how ranks talk")
      .choice("dtype", {"float32", "float64"}, "float32", "type of parameters and inputs")
      .choice("all-reduce", {"native", "ring"}, "native", "how gradients are summed")
      .choice("optimizer", {"sgd", "adam"}, "sgd", "update rule")
      .option("momentum", "0.9", "of sgd")
      .option("clip", "0", "bound on the gradient's norm; 0 is none")
      .option("lr", "", "learning rate (default 0.05 for sgd, 0.001 for adam)")
      .choice("lr-schedule", {"constant", "cosine"}, "cosine", "course of the learning rate")
      .option("warmup", "0", "optimizer steps in which the rate rises to --lr")
      .option("batch-size", "64", "samples a rank and step")
      .option("epochs", "3", "passes over the data")
      .option("steps", "", "optimizer steps, instead of --epochs")
      .option("seed", "0", "of the first weights and the order of samples")
      .option("log", "", "file for one JSON object a step and epoch");
  return options;
}

// The ranks of one run and what connects them; the store must outlive the group.
struct World {
  std::unique_ptr<comm::Store> store;
  std::unique_ptr<comm::ProcessGroup> group;
};

World join_world() {
  const launch::Lookup lookup = launch::process_environment();
  if (!launch::is_launched(lookup)) return {nullptr, comm::make_solo_group()};
  const auto environment = launch::read_environment(lookup);
  comm::GlooOptions gloo;
  gloo.name = text("world/attempt_", environment.restart_count);
  World world;
  world.store = comm::connect_store(environment.master_addr, environment.master_port);
  world.group = comm::make_gloo_group(*world.store, environment.rank, environment.world_size, gloo);
  return world;
}

// Starts this program once per rank; rank 0 keeps the terminal.
int launch_ranks(std::int64_t ranks, int argc, const char* const* argv) {
  launch::LaunchOptions launch;
  launch.ranks = static_cast<int>(ranks);
  launch.command.assign(argv, argv + argc);
  launch.command[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  launch.prefix = launch::Prefix::others;
  return launch::launch(launch);
}

struct Datasets {
  std::unique_ptr<data::Dataset> train, test;
};

Datasets open_data(const Arguments& arguments) {
  if (arguments.get("data") == "synthetic") {
    if (arguments.given("data-folder")) {
      throw UsageError("--data-folder belongs to --data fashion-mnist; leave it out");
    }
    return {data::make_synthetic(20'000, 64, 10, 0), data::make_synthetic(4'000, 64, 10, 1)};
  }
  const std::string& folder = arguments.get("data-folder");
  return {data::open_fashion_mnist(data::Split::train, folder),
          data::open_fashion_mnist(data::Split::test, folder)};
}

std::unique_ptr<nn::Module> make_model(const Arguments& arguments, const data::Dataset& dataset,
                                       Device& device) {
  const std::array widths{dataset.inputs(), hidden_widths[0], hidden_widths[1], dataset.classes()};
  const DType dtype = arguments.get("dtype") == "float64" ? DType::float64 : DType::float32;
  return nn::make_mlp(widths, dtype, device,
                      static_cast<std::uint64_t>(arguments.integer("seed", 0)));
}

std::unique_ptr<optim::Optimizer> make_optimizer(const Arguments& arguments, nn::Module& model) {
  const bool adam = arguments.get("optimizer") == "adam";
  if (adam && arguments.given("momentum")) {
    throw UsageError("--momentum belongs to --optimizer sgd; adam has its own, leave it out");
  }
  const double rate = arguments.given("lr") ? arguments.number("lr", 0) : adam ? 0.001 : 0.05;
  if (adam) return optim::make_adam(model.parameters(), {rate});
  return optim::make_sgd(model.parameters(), {rate, arguments.number("momentum", 0)});
}

train::TrainOptions train_options(const Arguments& arguments) {
  if (arguments.given("epochs") && arguments.given("steps")) {
    throw UsageError("--epochs and --steps both say when to stop; give one of them");
  }
  train::TrainOptions options;
  options.batch_size = arguments.integer("batch-size", 1);
  options.epochs = arguments.integer("epochs", 1);
  options.steps = arguments.given("steps") ? arguments.integer("steps", 1) : 0;
  options.schedule = arguments.get("lr-schedule") == "cosine" ? train::RateSchedule::cosine
                                                              : train::RateSchedule::constant;
  options.warmup = arguments.integer("warmup", 0);
  options.clip_norm = arguments.number("clip", 0);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  return options;
}

// Who watches: rank 0 shows progress and, when asked, writes the log.
struct Watchers {
  std::unique_ptr<train::Progress> progress;
  std::unique_ptr<train::JsonLog> log;
  std::vector<train::Observer*> all;
};

Watchers make_watchers(const Arguments& arguments, const train::RunDescription& run) {
  Watchers watchers;
  const auto paper = isatty(STDOUT_FILENO) == 1 ? train::Paper::terminal : train::Paper::plain;
  watchers.progress = std::make_unique<train::Progress>(std::cout, paper);
  watchers.all.push_back(watchers.progress.get());
  if (arguments.given("log")) {
    watchers.log = std::make_unique<train::JsonLog>(arguments.get("log"), run);
    watchers.all.push_back(watchers.log.get());
  }
  return watchers;
}

int train_rank(const Arguments& arguments) {
  const train::TrainOptions options = train_options(arguments);
  const Datasets datasets = open_data(arguments);
  const World world = join_world();
  if (arguments.given("ranks") && arguments.integer("ranks", 1) != world.group->size()) {
    throw UsageError(text("--ranks ", arguments.get("ranks"),
                          " disagrees with the launcher, which ", "started ", world.group->size(),
                          world.group->size() == 1 ? " rank" : " ranks",
                          "; give --ranks to one of them"));
  }
  const auto group = collectives::with_all_reduce(
      *world.group, collectives::all_reduce_named(arguments.get("all-reduce")));

  CpuDevice device;
  const auto model = make_model(arguments, *datasets.train, device);
  const auto optimizer = make_optimizer(arguments, *model);
  const std::int64_t steps = train::total_steps(options, datasets.train->size(), group->size());

  Watchers watchers;
  if (group->rank() == 0) {
    const train::RunDescription run{
        .model = arguments.get("model"),
        .data = arguments.get("data"),
        .backend = std::string(group->backend()),
        .device = std::string(device.name()),
        .dtype = arguments.get("dtype"),
        .all_reduce = arguments.get("all-reduce"),
        .optimizer = arguments.get("optimizer"),
        .kernels = std::string(kernels::provider()),
        .parameters = nn::count_of(*model),
        .ranks = group->size(),
        .batch_size = options.batch_size,
        .steps = steps,
        .learning_rate = optimizer->learning_rate(),
        .seed = options.seed,
    };
    watchers = make_watchers(arguments, run);
    std::cout << text(run.model, " of ", run.parameters, " parameters on ", run.data, ": ",
                      run.ranks, run.ranks == 1 ? " rank" : " ranks", ", batches of ",
                      run.batch_size, " a rank, ", run.steps, " steps, ", run.dtype, ", ",
                      run.kernels, " kernels\n")
              << std::flush;
  }
  const auto summary = train::train(*group, *model, *optimizer, *datasets.train, *datasets.test,
                                    options, watchers.all);
  return summary.replicas_equal ? 0 : 1;
}

// What each of the ranks would complain of, said once, before any is started.
void check_run(const Arguments& arguments, int ranks) {
  CpuDevice device;
  const Datasets datasets = open_data(arguments);
  make_optimizer(arguments, *make_model(arguments, *datasets.train, device));
  train::total_steps(train_options(arguments), datasets.train->size(), ranks);
}

int run(int argc, const char* const* argv) {
  const Options options = declared();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  const std::int64_t ranks = arguments.integer("ranks", 1);
  if (ranks > ranks_max) throw UsageError(text("--ranks ", ranks, " is more than ", ranks_max));
  if (ranks == 1 || launch::is_launched(launch::process_environment()))
    return train_rank(arguments);
  check_run(arguments, static_cast<int>(ranks));
  return launch_ranks(ranks, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    std::cerr << "lab train: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "lab train: " << error.what() << "\n";
    return 1;
  }
}
