#include "engine/apps/train_rank.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/apps/run_checkpoints.hpp"
#include "engine/apps/settings_of_run.hpp"
#include "engine/base/error.hpp"
#include "engine/base/shell_word.hpp"
#include "engine/base/units.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/finite.hpp"
#include "engine/checkpoint/job_lock.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/collectives/all_reduce_choice.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/launch/failure.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/symbolic.hpp"
#include "engine/train/json_log.hpp"
#include "engine/train/progress.hpp"
#include "engine/train/save.hpp"

namespace lockstep::apps {
namespace {

std::string typed_options(const Arguments& arguments) {
  std::string line;
  for (const Arguments::Typed& option : arguments.typed()) {
    for (const std::string& word : option.words) line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

bool reports(train::Strategy& strategy) {
  const train::RankPosition position = strategy.position();
  return position.role == train::Role::train && strategy.trainers().rank() == position.reporter;
}

// The observers of a run: rank 0 shows progress and, if asked, writes the log.
struct Watchers {
  std::unique_ptr<train::Progress> progress;
  std::unique_ptr<train::JsonLog> log;
  std::vector<train::Observer*> all;
};

void add_watchers(Watchers& watchers, const Arguments& arguments, const train::RunDescription& run,
                  bool resumes) {
  const auto output = isatty(STDOUT_FILENO) == 1 ? train::Output::terminal : train::Output::plain;
  // How fast paper is says nothing about a GPU.
  const auto rates = gpu::on_paper() ? train::Rates::hidden : train::Rates::shown;
  watchers.progress = std::make_unique<train::Progress>(std::cout, output, rates);
  watchers.all.push_back(watchers.progress.get());
  if (arguments.given("log")) {
    const auto begin = resumes ? train::LogFile::append : train::LogFile::replace;
    watchers.log = std::make_unique<train::JsonLog>(arguments.get("log"), run, begin);
    watchers.all.push_back(watchers.log.get());
  }
}

std::string megabytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes + 50'000) / 100'000;
  return text(tenths / 10, ".", tenths % 10, " MB");
}

void tell_memory(std::string_view whose, const Device& device) {
  std::cout << whose << ":";
  for (std::size_t i = 0; i < memory_kinds; ++i) {
    const auto kind = static_cast<MemoryKind>(i);
    std::cout << (i == 0 ? " " : ", ") << name_of(kind) << " "
              << megabytes(device.bytes_peak(kind));
  }
  std::cout << "\n";
}

// Says what the copies of --save-async take on this rank, beside the steps.
void tell_snapshot(const train::Saver& saver) {
  const auto& [parameters, buffers, optimizer_state] = saver.snapshot_bytes();
  const std::int64_t all = parameters + buffers + optimizer_state;
  if (all == 0) return;
  std::cout << text("a snapshot for --save-async took ", megabytes(all),
                    " of the host beside a step: parameters ", megabytes(parameters), ", buffers ",
                    megabytes(buffers), ", optimizer state ", megabytes(optimizer_state), "\n")
            << std::flush;
}

// --export: the weights in one file, on the rank that reports. While all ranks train: the servers
// of an asynchronous run have their parameters no longer than that.
void write_weights(const Arguments& arguments, train::Strategy& strategy,
                   const nn::ModelSpec& spec) {
  const auto whole = train::gather_whole(strategy.trainers(), strategy.position().reporter,
                                         strategy.pieces(), strategy.device());
  if (!reports(strategy)) return;
  checkpoint::write_safetensors(arguments.get("export"),
                                checkpoint::tensors_of(whole, checkpoint::Of::model),
                                nn::metadata_of(spec));
}

// The end of a run, on every trainer: its memory by kind, where its weights are, and what to type
// to read what a language model has learnt.
void tell_what_is_left(const Arguments& arguments, train::Strategy& strategy,
                       const nn::ModelSpec& spec, const comm::NcclPairs* pairs) {
  const bool tells = reports(strategy);
  if (tells) tell_memory("peak memory", strategy.device());
  if (tells && strategy.host() != nullptr) {
    tell_memory("peak memory of the host, for this rank", *strategy.host());
    const HostTraffic bytes = strategy.cost().host->bytes;
    std::cout << "a step copied " << megabytes(bytes.down) << " down to the host and "
              << megabytes(bytes.up) << " up, a rank\n";
  }
  if (pairs != nullptr) {
    const std::string told = comm::told_of_pairs(*pairs, strategy.trainers());
    if (tells) std::cout << told;
  }
  if (tells && arguments.given("export")) {
    std::cout << "weights: " << arguments.get("export")
              << (arguments.flag("masters") ? " (float32)\n" : "\n");
  }
  if (const optim::LossScaler* scaler = strategy.loss_scaler(); tells && scaler != nullptr) {
    std::cout << text("loss scale: ", scaler->scale(),
                      "; steps skipped because gradients overflowed: ", scaler->skipped(), "\n");
  }
  if (tells && arguments.given("checkpoint")) {
    std::cout << "checkpoint: " << arguments.get("checkpoint") << "\n";
    if (spec.kind == nn::ModelKind::gpt) {
      std::cout << "to see what it learned: ./lab generate --checkpoint "
                << shell_word(arguments.get("checkpoint")) << " --prompt \"A rank is\"\n";
    }
  }
  std::cout << std::flush;
}

// A run that was told to stop has saved; its weights are not exported, since they are not final.
void tell_stop(int signal, const Arguments& arguments, std::int64_t saved_step,
               std::int64_t steps) {
  const std::string saved = arguments.get("checkpoint") + "/" + checkpoint::folder_name(saved_step);
  std::cout << text("stopped by ", launch::name_of_signal(signal), " before the run's ", steps,
                    " steps were taken, and saved in ", saved,
                    ": to continue, type the same command ",
                    arguments.has("--resume auto") ? "again\n" : "with --resume\n")
            << std::flush;
}

std::optional<optim::LossScalerState> state_of(const optim::LossScaler* scaler) {
  return scaler != nullptr ? std::optional(scaler->state()) : std::nullopt;
}

std::int64_t parameters_of(const nn::ModelSpec& spec) {
  SymbolicDevice sizes_only;
  return nn::count_of(*nn::make_model(spec, sizes_only, 0));
}

// Completes the making with what this rank watches, where its sentences go, and how a spare is let
// go.
void complete(train::Making& making, const RankWorld& world) {
  // The simulator sees for itself what travels.
  if (world.trace != nullptr && world.group.clock() == comm::Clock::machine) {
    making.watch = [&](collectives::CommHook& hook) -> collectives::CommHook& {
      return world.trace->watch(hook);
    };
    making.watch_collectives = [&](collectives::UnderWay what, comm::Work work) {
      return world.trace->under_way(std::move(what), std::move(work));
    };
  }
  making.tell = [](const std::string& one) { std::cout << one + "\n" << std::flush; };
  if (world.joined != nullptr) making.on_spare = [&] { world.joined->be_spare(); };
}

// A run that was over when it was resumed: nothing is left to do but to write its weights, if that
// is asked for.
Trained end_finished(const train::Making& making, train::Strategy& strategy,
                     const train::WayMaker& way, std::int64_t taken, std::int64_t steps,
                     std::int64_t parameters) {
  const Arguments& arguments = making.arguments;
  if (strategy.position().role == train::Role::train) {
    strategy.settle();
    if (arguments.given("export")) write_weights(arguments, strategy, making.recipe.saved_model());
    strategy.end();
    if (reports(strategy)) {
      std::cout << text("the run had taken ", taken == steps ? "its " : "", counted(taken, "step"),
                        " before", taken == steps ? "" : text(", more than the ", steps, " of now"),
                        "; nothing is trained\n")
                << (arguments.given("export") ? text("weights: ", arguments.get("export"), "\n")
                                              : "")
                << std::flush;
    }
  } else if (strategy.position().role == train::Role::serve) {
    strategy.serve();
  }
  if (way.pace() != train::Pace::apart) making.group.barrier();
  train::Summary summary;
  summary.replicas_equal = true;
  return {summary, parameters};
}

}  // namespace

void check_run(const Arguments& arguments, const Datasets& datasets, int ranks) {
  const nn::ModelSpec model = model_spec(arguments, *datasets.train);
  optimizer_spec(arguments);
  const train::ChosenWays ways(arguments);
  ways.check(arguments, model, ranks);
  train::total_steps(loop_options(arguments), datasets.train->size(),
                     ways.shares(arguments, ranks));
}

Trained train_rank(const Arguments& arguments, const Datasets& datasets, const RankWorld& world) {
  train::TrainOptions options = loop_options(arguments);
  options.strands = &world.strands;
  options.phases = world.trace;
  const train::ChosenWays ways(arguments);
  const train::WayMaker& way = ways.trainer();
  Device& device = world.device;
  const auto group = collectives::with_all_reduce(
      world.group, collectives::all_reduce_named(arguments.get("all-reduce")), world.strands,
      world.ranks_per_node);

  const optim::OptimizerSpec optimizer = optimizer_spec(arguments);
  const std::string_view of_kind = name_of(optimizer.kind);
  train::Recipe recipe{model_spec(arguments, *datasets.train), optimizer, options.seed};
  recipe.precision = train::precision_of(arguments);
  if (arguments.given("init")) recipe.first_weights = arguments.get("init");
  const nn::ModelSpec& spec = recipe.model;
  const nn::ModelSpec saved = recipe.saved_model();
  train::Making making{.arguments = arguments,
                       .group = *group,
                       .device = device,
                       .recipe = recipe,
                       .strands = &world.strands,
                       .host = world.host,
                       .clip_norm = clip_norm(arguments),
                       .ranks_per_node = world.ranks_per_node};
  complete(making, world);
  const auto strategy = ways.make(making);
  const train::RankPosition position = strategy->position();
  Checkpoints checkpoints = make_checkpoints(arguments, saved, datasets, options.seed);
  checkpoints.options.tell = [told = std::set<std::string>(), &making](const auto& what) mutable {
    if (told.insert(what).second) making.tell(what);
  };
  const std::string global_batch = text(options.batch_size * options.accumulate * position.shares);
  std::optional<checkpoint::JobLock> lock;
  if (!checkpoints.folder.empty() && reports(*strategy)) lock.emplace(checkpoints.folder);
  // Each rank writes a share, or is going to read after a restart. Simulated ranks share all files.
  if (world.joined != nullptr && !checkpoints.folder.empty() &&
      (checkpoints.form == train::SaveForm::sharded || world.joined->environment.max_restarts > 0 ||
       world.joined->environment.round)) {
    check_shared_folder(*group, checkpoints, lock ? &*lock : nullptr);
  }
  const checkpoint::Beginning beginning =
      world.beginning != nullptr ? *world.beginning : checkpoint::Beginning{};
  checkpoints.options.run = beginning.run;
  checkpoints.options.damaged = beginning.damaged;
  if (reports(*strategy)) std::cout << beginning.told << std::flush;
  std::optional<checkpoint::TrainState> earlier;
  if (beginning.from) {
    earlier = resume(*group, checkpoints, *strategy, *beginning.from, datasets.train->size());
    options.start = {earlier->step, earlier->epoch, earlier->taken};
  }
  const std::int64_t steps = train::total_steps(options, datasets.train->size(), position.shares);
  const std::int64_t parameters = parameters_of(spec);
  if (options.start.step >= steps) {
    if (arguments.given("export") || beginning.may_be_over) {
      return end_finished(making, *strategy, way, options.start.step, steps, parameters);
    }
    throw UsageError(text("--resume: the run has already taken ",
                          counted(options.start.step, "step"), ", and this one asks for ", steps,
                          "; pass a larger --steps, or --export FILE to write its weights"));
  }
  const auto rates_at = [&, base = strategy->rate()](std::int64_t step) {
    const auto rate = [&](std::int64_t of) {
      return train::rate_at(of, steps, base, position.shares, options);
    };
    return RatesOfRun{steps, step > 0 ? rate(step - 1) : 0, step < steps ? rate(step) : 0};
  };
  checkpoint::FileStorage storage(checkpoints.folder);
  std::int64_t saved_step = options.start.step;
  std::optional<train::Saver> saver;
  if (!checkpoints.folder.empty() && position.role == train::Role::train) {
    saver.emplace(
        *strategy,
        train::Saver::Options{.form = checkpoints.form,
                              .optimizer = std::string(of_kind),
                              .of_checkpoints = checkpoints.options,
                              .beside = arguments.flag("save-async") ? &world.strands : nullptr},
        storage);
  }
  if (!checkpoints.folder.empty() || arguments.given("export")) {
    options.save_every = arguments.integer("save-every", 0);
    if (world.told != nullptr) options.told_to_stop = [&] { return world.told->told(); };
    options.save = [&](const train::Position& at) {
      if (at.step == steps && arguments.given("export")) {
        write_weights(arguments, *strategy, saved);
      }
      if (!saver) return;
      checkpoint::Metadata notes = checkpoints.notes;
      saved_step = at.step;
      notes[global_batch_note] = global_batch;
      notes.merge(settings_of(arguments, rates_at(at.step)));
      saver->save({.step = at.step,
                   .epoch = at.epoch,
                   .taken = at.taken,
                   .seed = options.seed,
                   .loss_scaler = state_of(strategy->loss_scaler()),
                   .notes = std::move(notes)});
    };
  }

  Watchers watchers;
  watchers.all = world.observers;
  if (reports(*strategy)) {
    const train::RunDescription run{
        .model = arguments.get("model"),
        .data = datasets.name,
        .backend = std::string(group->backend()),
        .device = std::string(device.name()),
        .dtype = arguments.get("dtype"),
        .all_reduce = arguments.get("all-reduce"),
        .optimizer = std::string(of_kind),
        .kernels = std::string(device.kernels().name()),
        .reduction = std::string(way.reduction()),
        .compression = ways.compression(arguments),
        .options = typed_options(arguments),
        .parameters = parameters,
        .ranks = group->size(),
        .shares = position.shares,
        .batch_size = options.batch_size,
        .accumulate = options.accumulate,
        .steps = steps,
        .learning_rate = optimizer.learning_rate(),
        .seed = options.seed,
        .data_hash = datasets.text ? std::optional(datasets.text->checksum) : std::nullopt,
    };
    add_watchers(watchers, arguments, run, earlier.has_value());
    // One rank has all of a replica's weights, and reads whole samples alone.
    const bool one_has_all = arguments.integer("tp", 1) == 1 && arguments.integer("cp", 1) == 1;
    std::cout << text(run.model, " of ", run.parameters, " parameters on ", run.data, ": ",
                      counted(run.ranks, "rank"), ", ",
                      run.accumulate == 1 ? "" : text(run.accumulate, " "), "batches of ",
                      run.batch_size, one_has_all ? " a rank, " : " a replica, ",
                      counted(run.steps, "step"), ", ", run.dtype,
                      recipe.precision.masters ? " with float32 masters, " : ", ",
                      device.numbers() == Numbers::away ? run.device + ", " : std::string(),
                      run.kernels, " kernels\n");
    std::cout << ways.note(arguments, spec);
    if (earlier) {
      std::cout << told_on_resume(
                       *earlier, datasets.train->size(), global_batch,
                       told_of_changes(earlier->notes, arguments, rates_at(earlier->step)))
                << ways.note_on_resume(arguments);
    }
    std::cout << std::flush;
  }
  train::Summary summary;
  try {
    summary = train::train(*strategy, *datasets.train, *datasets.test, options, watchers.all);
  } catch (const train::NotFinite& error) {
    if (saver) saver->finish();  // what was finite before may still be under way
    throw Error(error.what() + checkpoint::told_of_last(checkpoints.folder));
  }
  if (saver) saver->finish();
  if (summary.stopped_by != 0) {
    if (reports(*strategy)) tell_stop(summary.stopped_by, arguments, saved_step, steps);
  } else if (position.role == train::Role::train) {
    tell_what_is_left(arguments, *strategy, spec, world.pairs);
    if (saver && reports(*strategy)) tell_snapshot(*saver);
  }
  // A rank that ends with an error is followed by the end of all: not before rank 0 has told why.
  // Ranks that train apart have nothing to wait for, and one of them may be gone.
  if (way.pace() != train::Pace::apart) group->barrier();
  return {summary, parameters};
}

}  // namespace lockstep::apps
