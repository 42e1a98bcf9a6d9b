#include "engine/apps/train_rank.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/weights.hpp"
#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/train/json_log.hpp"
#include "engine/train/progress.hpp"

namespace lockstep::apps {
namespace {

constexpr const char* tokenizer_file = "tokenizer.txt";

// Where checkpoints go, and what stands in each beside the tensors.
struct Checkpoints {
  std::string folder;
  checkpoint::SaveOptions options;
  checkpoint::Metadata notes;   // what must be the same when a run goes on
  std::int64_t first_step = 0;  // of this run
};

Checkpoints make_checkpoints(const Arguments& arguments, const nn::ModelSpec& spec,
                             const Datasets& datasets, const train::TrainOptions& options,
                             int ranks) {
  Checkpoints checkpoints{arguments.get("checkpoint"), {}, {}, 0};
  checkpoints.options.model = nn::metadata_of(spec);
  checkpoints.options.keep_last = 2;
  checkpoints.notes = {{"--seed", text(options.seed)},
                       {"--batch-size", text(options.batch_size)},
                       {"--accumulate", text(options.accumulate)},
                       {"--ranks", text(ranks)},
                       {"--data", datasets.name},
                       {"samples in the data", text(datasets.train->size())}};
  if (datasets.tokenizer) {
    const std::string description = datasets.tokenizer->description();
    checkpoints.options.files = {{tokenizer_file, description}};
    checkpoints.notes["a tokenizer of checksum"] =
        text(checksum_of(std::as_bytes(std::span(description))));
  }
  return checkpoints;
}

// Goes on from the latest checkpoint. Every rank reads it itself.
void resume(Checkpoints& checkpoints, nn::Module& model, optim::Optimizer& optimizer) {
  const auto latest = checkpoint::latest_in(checkpoints.folder);
  if (!latest) throw Error("--resume: the checkpoint is gone from " + checkpoints.folder);
  for (const auto& [name, mine] : checkpoints.options.model) {
    const checkpoint::Metadata saved = checkpoint::model_metadata(*latest);
    const auto theirs = saved.find(name);
    if (theirs != saved.end() && theirs->second == mine) continue;
    throw UsageError(text("--resume: the model in ", latest->string(), " has ", name, " ",
                          theirs == saved.end() ? "(none)" : theirs->second, ", but this one has ",
                          mine, "; pass the values of the first run"));
  }
  const checkpoint::TrainState state = checkpoint::load(*latest, model, optimizer);
  for (const auto& [name, mine] : checkpoints.notes) {
    const auto saved = state.notes.find(name);
    if (saved != state.notes.end() && saved->second == mine) continue;
    throw UsageError(text("--resume: the run in ", latest->string(), " has ", name, " ",
                          saved == state.notes.end() ? "(none)" : saved->second,
                          ", but this one has ", mine,
                          "; the samples would differ from those of an uninterrupted run"));
  }
  checkpoints.first_step = state.step;
}

// Who watches: rank 0 shows progress and, when asked, writes the log.
struct Watchers {
  std::unique_ptr<train::Progress> progress;
  std::unique_ptr<train::JsonLog> log;
  std::vector<train::Observer*> all;
};

void add_watchers(Watchers& watchers, const Arguments& arguments,
                  const train::RunDescription& run) {
  const auto paper = isatty(STDOUT_FILENO) == 1 ? train::Paper::terminal : train::Paper::plain;
  watchers.progress = std::make_unique<train::Progress>(std::cout, paper);
  watchers.all.push_back(watchers.progress.get());
  if (arguments.given("log")) {
    const auto begin = arguments.flag("resume") ? train::LogFile::append : train::LogFile::replace;
    watchers.log = std::make_unique<train::JsonLog>(arguments.get("log"), run, begin);
    watchers.all.push_back(watchers.log.get());
  }
}

// The end of a run: its memory by kind, its weights where they were asked for, and what to type
// to read what a language model has learnt.
void tell_what_is_left(const Arguments& arguments, const Device& device, nn::Module& model,
                       const nn::ModelSpec& spec) {
  std::cout << "peak memory:";
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    const std::int64_t tenths = (device.bytes_peak(kind) + 50'000) / 100'000;
    std::cout << (i == 0 ? " " : ", ") << name_of(kind) << " " << tenths / 10 << "." << tenths % 10
              << " MB";
  }
  std::cout << "\n";
  if (arguments.given("export")) {
    checkpoint::save_weights(arguments.get("export"), model, nn::metadata_of(spec));
    std::cout << "weights: " << arguments.get("export") << "\n";
  }
  if (arguments.given("checkpoint")) {
    std::cout << "checkpoint: " << arguments.get("checkpoint") << "\n";
    if (spec.kind == nn::ModelKind::gpt) {
      std::cout << "to see what it learned: ./lab generate --checkpoint "
                << arguments.get("checkpoint") << " --prompt \"A rank is\"\n";
    }
  }
  std::cout << std::flush;
}

}  // namespace

Trained train_rank(const Arguments& arguments, const Datasets& datasets, const RankWorld& world) {
  train::TrainOptions options = loop_options(arguments);
  options.strands = &world.strands;
  options.step.phases = world.trace;
  const bool real = world.group.clock() == comm::Clock::machine;  // the simulator sees for itself
  if (world.trace != nullptr && real) options.step.ddp.hook = &world.trace->hook();
  Device& device = world.device;
  const auto group = collectives::with_all_reduce(
      world.group, collectives::all_reduce_named(arguments.get("all-reduce")), world.strands,
      world.ranks_per_node);

  const nn::ModelSpec spec = model_spec(arguments, *datasets.train);
  const auto model = nn::make_model(spec, device, options.seed);
  if (arguments.given("init")) checkpoint::load_weights(arguments.get("init"), *model);
  const auto optimizer = make_optimizer(arguments, *model);
  Checkpoints checkpoints = make_checkpoints(arguments, spec, datasets, options, group->size());
  if (arguments.flag("resume")) resume(checkpoints, *model, *optimizer);
  options.first_step = checkpoints.first_step;
  const std::int64_t steps = train::total_steps(options, datasets.train->size(), group->size());
  if (options.first_step >= steps) {
    throw UsageError(text("--resume: the run has already taken ", options.first_step,
                          " steps, and this one asks for ", steps, "; pass a larger --steps"));
  }
  if (!checkpoints.folder.empty() && group->rank() == 0) {
    options.save_every = arguments.integer("save-every", 0);
    options.save = [&](std::int64_t taken) {
      checkpoint::save(checkpoints.folder, *model, *optimizer,
                       {.step = taken, .seed = options.seed, .notes = checkpoints.notes},
                       checkpoints.options);
    };
  }

  Watchers watchers;
  watchers.all = world.observers;
  if (group->rank() == 0) {
    const train::RunDescription run{
        .model = arguments.get("model"),
        .data = datasets.name,
        .backend = std::string(group->backend()),
        .device = std::string(device.name()),
        .dtype = arguments.get("dtype"),
        .all_reduce = arguments.get("all-reduce"),
        .optimizer = optimizer_name(arguments),
        .kernels = std::string(kernels::provider()),
        .reduction = options.step.reduction == train::Reduction::during_backward ? "during backward"
                                                                                 : "after backward",
        .parameters = nn::count_of(*model),
        .ranks = group->size(),
        .batch_size = options.batch_size,
        .accumulate = options.accumulate,
        .steps = steps,
        .learning_rate = optimizer->learning_rate(),
        .seed = options.seed,
    };
    add_watchers(watchers, arguments, run);
    std::cout << text(run.model, " of ", run.parameters, " parameters on ", run.data, ": ",
                      run.ranks, run.ranks == 1 ? " rank" : " ranks", ", ",
                      run.accumulate == 1 ? "" : text(run.accumulate, " "), "batches of ",
                      run.batch_size, " a rank, ", run.steps, " steps, ", run.dtype, ", ",
                      run.kernels, " kernels\n")
              << std::flush;
  }
  const auto summary = train::train(*group, *model, *optimizer, *datasets.train, *datasets.test,
                                    options, watchers.all);
  if (group->rank() == 0) tell_what_is_left(arguments, device, *model, spec);
  // A rank that ends with an error is followed by the end of all: not before rank 0 has told why.
  group->barrier();
  return {summary, nn::count_of(*model)};
}

}  // namespace lockstep::apps
