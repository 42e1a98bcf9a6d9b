// train: trains a model on one rank, or as one of several that the launcher started. Called with
// --ranks N outside the launcher, it launches itself; with --backend sim the ranks are simulated in
// this process. Only what the options name is built.
#include <filesystem>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>

#include "engine/apps/computing.hpp"
#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/host_products.hpp"
#include "engine/apps/program.hpp"
#include "engine/apps/ranks.hpp"
#include "engine/apps/seats.hpp"
#include "engine/apps/sibling.hpp"
#include "engine/apps/torchrun_words.hpp"
#include "engine/apps/train_files.hpp"
#include "engine/apps/train_options.hpp"
#include "engine/apps/train_rank.hpp"
#include "engine/apps/train_sim.hpp"
#include "engine/base/units.hpp"
#include "engine/comm/stand_in_group.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/launch/error_file.hpp"
#include "engine/launch/launcher.hpp"
#include "engine/launch/same_command.hpp"
#include "engine/launch/signals.hpp"
#include "engine/tensor/waiting_device.hpp"

namespace {

using namespace lockstep;

// Starts this program once per rank; rank 0 keeps the terminal.
int launch_ranks(std::int64_t ranks, const apps::OurWords& words, const Arguments& arguments) {
  constexpr double save_s = 30;  // torchrun's; Slurm's KillWait is as long
  launch::LaunchOptions launch;
  launch.ranks = static_cast<int>(ranks);
  launch.command.assign(words.argv(), words.argv() + words.argc());
  if (arguments.given("checkpoint")) launch.interrupt_grace_s = save_s;
  launch.command[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  launch.prefix = launch::Prefix::others;
  return launch::launch(launch);
}

// The FLOP/s that one core of this machine reaches, as rank 0 measures them while the others wait.
double agreed_flops_s(comm::ProcessGroup& group) {
  CpuDevice host(apps::host_products());
  const double mine = group.rank() == 0 ? measured_flops_s(host) : 0;
  const Tensor told = full({1}, mine, DType::float64, host);
  group.broadcast(told, 0);
  return told.item();
}

// On paper, what was carried out counts, and not when the host asked for it.
trace::Timeline timeline_of(const apps::RankTrace& trace, Device& device) {
  if (!gpu::on_paper()) return trace.timeline();
  device.settle();
  return trace.timeline_of_paper(gpu::paper_history());
}

// The seats of a launched world. A world that is smaller than a replica is told to the launcher,
// which waits for more ranks where they may come; elsewhere the way refuses it.
apps::Seats seats_in(const Arguments& arguments, const apps::Joined& joined, int ranks) {
  const bool may_come = joined && joined->environment.round;
  if (!may_come && !arguments.given("global-batch")) return {ranks, arguments, ""};
  return apps::seats_of(arguments, ranks);
}

// A rank that is this process.
int train_here(const Arguments& typed, std::span<const std::string> names) {
  // Before any thread starts. A run with checkpoints saves and stops when it is told to.
  std::optional<launch::StopSignals> told;
  if (typed.given("checkpoint")) told.emplace();
  const launch::Lookup lookup = launch::process_environment();
  apps::Joined joined =
      launch::is_launched(lookup) ? launch::join_alike(lookup, typed, names) : nullptr;
  const int launched = joined ? joined->environment.world_size : 1;
  if (typed.given("ranks") && typed.integer("ranks", 1) != launched) {
    throw UsageError(text("--ranks ", typed.get("ranks"),
                          " disagrees with the launcher, which started ", counted(launched, "rank"),
                          "; pass --ranks to only one of them", launch::told_of_leftovers(lookup)));
  }
  const apps::Seats seats = seats_in(typed, joined, launched);
  const Arguments& arguments = seats.arguments;
  const int ranks = seats.trainers;
  if (joined && joined->environment.rank >= ranks) {
    const int signal = apps::stand_by(*joined, told ? &*told : nullptr);
    joined->leave();
    return signal == SIGTERM ? 1 : 0;
  }
  if (!joined || joined->environment.rank == 0) std::cout << seats.told << std::flush;
  if (arguments.has("--device cuda") && arguments.has("--backend gloo") && ranks > 1) {
    throw UsageError(text("--device cuda computes on one GPU, and the launcher started ", ranks,
                          " ranks: pass --backend nccl instead"));
  }
  apps::check_files(arguments);
  apps::check_shared_text(arguments, ranks);
  const apps::Datasets datasets = apps::open_datasets(arguments);
  apps::check_run(arguments, datasets, ranks);
  // Outlives the group, which may still hold tensors when an error ends the run.
  const apps::Computing computing(arguments, apps::seat_of_process());
  std::optional<WaitingDevice> waiting;
  const comm::Transport transport = comm::transport_of(arguments.get("transport"));
  const apps::Ranks world =
      arguments.has("--backend nccl")
          ? apps::join_gpus(computing.device(), transport, std::move(joined), ranks)
          : apps::join_ranks(transport, std::move(joined), ranks);
  apps::compare_inputs(arguments, datasets, *world.group);
  const auto beginning =
      checkpoint::agree_on_beginning(*world.group, apps::wish_of(arguments, lookup));
  std::unique_ptr<comm::ProcessGroup> stand_in;
  if (arguments.flag("modelled-compute")) {
    waiting.emplace(agreed_flops_s(*world.group));
    stand_in = comm::make_stand_in_group(*world.group);
  }
  Device& device = waiting ? static_cast<Device&>(*waiting) : computing.device();
  comm::ProcessGroup& group = stand_in ? *stand_in : *world.group;
  const auto strands = make_thread_strands();
  const int ranks_per_node = world.joined ? world.joined->environment.local_world_size : 0;
  apps::RankTrace trace(group, device);
  const bool traces = arguments.given("trace");
  const apps::Trained trained = apps::train_rank(arguments, datasets,
                                                 {group,
                                                  device,
                                                  *strands,
                                                  {},
                                                  traces ? &trace : nullptr,
                                                  ranks_per_node,
                                                  world.joined.get(),
                                                  world.pairs.get(),
                                                  told ? &*told : nullptr,
                                                  &beginning});
  if (traces) {
    trace::Timeline timeline = timeline_of(trace, device);
    timeline.title = text("train on ", counted(world.group->size(), "process"));
    timeline.facts = {{"model", arguments.get("model")},
                      {"backend", std::string(world.group->backend())}};
    if (gpu::on_paper()) {
      timeline.facts.emplace_back(
          "times", "of paper, not of a GPU: they show what ran beside what, not how long it takes");
    }
    apps::write_together(arguments.get("trace"), *world.group, std::move(timeline));
  }
  if (world.joined) apps::tell_trained(*world.joined);
  world.leave();
  if (trained.summary.stopped_by == SIGTERM) {  // as any run that is interrupted
    launch::say_saved(lookup);
    return 1;
  }
  return trained.summary.replicas_equal && computing.ends_well() ? 0 : 1;
}

// For ./lab, which builds that program before it starts it: `train --needed-program ARGS…` prints
// its name and what it is for, and nothing where this program will do.
int print_needed_program(int argc, const char* const* argv) {
  const Options options = apps::train_options();
  const apps::OurWords ours(argc, argv, options);
  const Arguments arguments = options.parse(ours.argc(), ours.argv());
  const apps::Trainer needed = apps::trainer_in_place_of_this(arguments);
  if (!needed.what.empty()) std::cout << needed.program << " " << needed.what << "\n";
  return 0;
}

int run(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--needed-program") {
    return print_needed_program(argc - 1, argv + 1);
  }
  const Options options = apps::train_options();
  const apps::OurWords ours(argc, argv, options);
  const Arguments arguments = options.parse(ours.argc(), ours.argv());
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  apps::leave_to_lab(arguments, {"with", "break"}, "./lab train");
  apps::become_trainer(arguments, ours.argv());
  const std::int64_t ranks = apps::ranks_of(arguments);
  if (ranks > apps::ranks_max) {
    throw UsageError(text(arguments.given("ranks")
                              ? "--ranks " + arguments.get("ranks")
                              : std::string("what the options ask for together"),
                          " is more than ", apps::ranks_max));
  }
  const launch::Lookup lookup = launch::process_environment();
  const bool launched = launch::is_launched(lookup);
  if (!launched) checkpoint::check_beginning(apps::wish_of(arguments, lookup));
  if (arguments.get("backend") == "sim") {
    if (launched && !launch::is_alone(lookup)) {
      throw UsageError(
          text("--backend sim runs all ranks in one process and needs no launcher; run ./lab train "
               "--backend sim --ranks N",
               launch::told_of_leftovers(lookup)));
    }
    apps::check_files(arguments);
    const apps::Seats seats = seats_in(arguments, nullptr, static_cast<int>(ranks));
    if (!seats.told.empty()) {
      throw UsageError(
          text(seats.told, "simulated ranks do not stand by: pass --ranks ", seats.trainers));
    }
    return apps::train_simulated(seats.arguments, static_cast<int>(ranks));
  }
  const bool launches = ranks > 1 && (!launched || launch::is_alone(lookup));
  if (!launches) return train_here(arguments, options.names());
  if (launched) {
    std::cerr << text("lab train: ", launch::told_of_variables(lookup),
                      ", as by a launcher of one rank; --ranks ", ranks,
                      " starts its own ranks here and sets them anew\n");
  }
  apps::check_files(arguments);
  apps::check_shared_text(arguments, ranks);
  const apps::Seats seats = seats_in(arguments, nullptr, static_cast<int>(ranks));
  apps::check_run(seats.arguments, apps::open_datasets(seats.arguments), seats.trainers);
  if (apps::uses_gpu(arguments)) apps::check_gpus(arguments, static_cast<int>(ranks));
  return launch_ranks(ranks, ours, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::apps::run_program("lab train", [&] {
    return lockstep::launch::with_error_file(lockstep::launch::process_environment(),
                                             [&] { return run(argc, argv); });
  });
}
