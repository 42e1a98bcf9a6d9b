// bench: how fast the engine is, beside others where they are asked for. What is compared runs in
// turns within one call, each time in fresh processes of one thread, because a machine is not the
// same from one minute to the next; what counts is the ratio of each round. A single process is
// kept on one core; ranks have all of them. The peer is PyTorch, or the engine's own DDP beside its
// Horovod.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "engine/apps/bench_collective.hpp"
#include "engine/apps/bench_report.hpp"
#include "engine/apps/gpu_ranks.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/base/step_counter.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::bench;
using Words = std::vector<std::string>;

Options declared() {
  Options options(
      "lab bench",
      "Trains models on one or more ranks with one thread each, and prints speed, memory and "
      "start-up time. With --peer torch, it prints PyTorch's figures beside them.");
  options.words("train", "what to measure")
      .choice("peer", {"none", "torch", "torch-as-installed", "ddp"}, "none",
              "PyTorch at its fastest on this machine, or with its defaults; or our own DDP")
      .choice("model", {"all", "mlp", "gpt-small", "gpt"}, "all", "what to train")
      .option("ranks", "1", "numbers of ranks, separated by commas")
      .choice("way", {"ddp", "horovod", "fsdp", "tp", "both"}, "ddp",
              "how ranks share gradients, with fsdp the state, with tp each layer of a GPT; both:\n"
              "Horovod, with DDP as the peer")
      .option("repeats", "5", "rounds; each starts new processes for both sides")
      .option("steps", "", "steps per repetition; each process runs three repetitions")
      .flag("json", "print one JSON document instead of the table")
      .option("torch-python", "python3", "a Python that has PyTorch; or set TORCH_PYTHON")
      .option("torch-script", "tests/bench/torch_train.py", "the peer's program");
  const auto on_cpu = [](const Arguments& arguments) { return !apps::uses_gpu(arguments); };
  options.choice("backend", {"gloo", "nccl"}, "gloo",
                 "how ranks talk: through the host, or from GPU to GPU, one a rank");
  apps::add_device(options)
      .only_if({"peer"}, "trains on one thread of the CPU; leave it out on a GPU", on_cpu)
      .only_if({"ranks"}, "with --device cuda is 1; several ranks on GPUs need --backend nccl",
               [](const Arguments& arguments) {
                 return !arguments.has("--device cuda") || arguments.get("ranks") == "1" ||
                        arguments.has("--backend nccl");
               });
  return options;
}

// The commands of both sides for one model.
struct Sides {
  std::string model;
  int ranks;
  Words ours, peer;  // peer is empty when there is none
};

Words with(Words command, const Words& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::string ranks_text(int ranks) { return text(ranks, ranks == 1 ? " rank" : " ranks"); }

bool has_torch(const Arguments& arguments) { return arguments.get("peer").starts_with("torch"); }
bool has_ddp(const Arguments& arguments) {
  return arguments.has("--peer ddp") || arguments.has("--way both");
}
bool has_peer(const Arguments& arguments) { return has_torch(arguments) || has_ddp(arguments); }

void check_layers(const Arguments& arguments) {
  if (arguments.has("--model all") || arguments.has("--model mlp")) {
    throw UsageError("--way tp splits the layers of a GPT; pass --model gpt-small or gpt");
  }
  if (arguments.has("--peer ddp")) {
    throw UsageError(
        "--way tp trains all ranks on one batch, --peer ddp each on its own; pass --peer torch, "
        "or leave it out");
  }
}

void check_way(const Arguments& arguments, const std::vector<int>& groups) {
  if (arguments.has("--peer ddp") && arguments.has("--way ddp")) {
    throw UsageError("--peer ddp is DDP itself; pass what is measured beside it: --way fsdp");
  }
  if (!arguments.given("way")) return;
  if (std::ranges::min(groups) == 1) {
    throw UsageError("--way says how ranks share gradients; pass --ranks 2 or more");
  }
  if (arguments.has("--way tp")) check_layers(arguments);
  const bool both = arguments.has("--way both") && arguments.given("peer");
  if (both || (arguments.has("--way horovod") && has_torch(arguments))) {
    throw UsageError(text("--peer ", arguments.get("peer"), " and --way ", arguments.get("way"),
                          " both say what is measured beside what; with --peer, leave out --way, "
                          "or pass --way fsdp or tp"));
  }
}

// The peer's command, with the variant that a short trial found to be the fastest.
Words peer_command(const Arguments& arguments, const std::string& model, Runner& runner,
                   StepCounter& progress) {
  Words command{arguments.get("torch-python"), arguments.get("torch-script"), "--model", model};
  if (arguments.get("peer") == "torch-as-installed") return command;
  // glibc gives large blocks back to the system at once, and PyTorch asks for them again each step.
  command = with({"env", "MALLOC_TRIM_THRESHOLD_=4000000000", "MALLOC_MMAP_THRESHOLD_=1000000000"},
                 command);
  progress.begin(model + ": looking for PyTorch's fastest variant");
  const Json trial = runner.run_for_json(with(command, {"--fastest"}));
  const auto products = trial.find("products");
  if (products == trial.end() || !products->is_string()) {
    throw Error("bench: PyTorch's trial printed no \"products\" but " + trial.dump());
  }
  return with(command, {"--products", products->get<std::string>()});
}

// `peer` is empty, or the command of PyTorch's process.
Sides sides_of(const Arguments& arguments, const std::string& model, int ranks, Words peer) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  Sides sides{model, ranks, {(here / "bench-train").string(), "--model", model}, std::move(peer)};
  if (arguments.given("steps")) {
    const Words steps{"--steps", arguments.get("steps")};
    sides.ours = with(sides.ours, steps);
    if (!sides.peer.empty()) sides.peer = with(sides.peer, steps);
  }
  for (const char* where : {"device", "backend"}) {
    if (!arguments.given(where)) continue;
    sides.ours = with(sides.ours, {text("--", where), arguments.get(where)});
  }
  if (arguments.flag("paper")) sides.ours = with(sides.ours, {"--paper"});
  if (ranks > 1) sides.ours = launched(ranks, sides.ours);
  const std::string& way = arguments.get("way");
  if (has_ddp(arguments)) sides.peer = with(sides.ours, {"--way", "ddp"});
  if ((way == "fsdp" || way == "tp") && has_torch(arguments)) {
    sides.peer = with(sides.peer, {"--way", way});
  }
  if (way != "ddp") sides.ours = with(sides.ours, {"--way", way == "both" ? "horovod" : way});
  return sides;
}

// The bench itself: everything that was asked for, as far as it can be measured.
class TrainBench {
 public:
  TrainBench(const Arguments& arguments, Words models, std::vector<int> groups)
      : arguments_(arguments),
        models_(std::move(models)),
        groups_(std::move(groups)),
        repeats_(arguments.integer("repeats", 1)),
        progress_(steps()) {}

  void measure() {
    try {
      if (has_torch(arguments_)) runner_.require_torch(arguments_.get("torch-python"), "train");
      machine_ = this_machine();
      if (groups_ == std::vector<int>{1}) machine_.pinned_to_core = pin_to_one_core();
      for (const std::string& model : models_) {
        unless_it_fails(model, [&] {
          const Words peer =
              has_torch(arguments_) ? peer_command(arguments_, model, runner_, progress_) : Words{};
          for (const int ranks : groups_) {
            const Sides sides = sides_of(arguments_, model, ranks, peer);
            unless_it_fails(name_of(sides), [&] { run_rounds(sides); });
          }
        });
      }
    } catch (const Interrupted& signal) {
      missing_.interrupted = signal.what();
    }
    progress_.clear();
  }

  // Returns the exit code. Losses that differ are said on standard error as well.
  int print() const {
    bool well = !missing_.any();
    say(missing_, "lab bench");
    for (const Rounds& rounds : all_) {
      const std::string why = disagreement(rounds);
      if (why.empty()) continue;
      well = false;
      std::cerr << "lab bench: " + why + "\n";
    }
    std::cout << (arguments_.flag("json") ? report(all_, machine_, missing_).dump(1) + "\n"
                                          : table(all_, machine_, missing_));
    if (arguments_.flag("paper")) {
      std::cerr << "lab bench: on paper, speeds are those of an interpreter, not of a GPU\n";
    }
    return well ? 0 : 1;
  }

 private:
  std::size_t steps() const {
    const std::size_t trials = arguments_.get("peer") == "torch" ? 1 : 0;
    const std::size_t sides = has_peer(arguments_) ? 2 : 1;
    return models_.size() * (trials + groups_.size() * static_cast<std::size_t>(repeats_) * sides);
  }

  static std::string name_of(const Sides& sides) {
    return text(sides.model, ", ", ranks_text(sides.ranks));
  }

  // One model that cannot be measured does not hide the others.
  template <typename Work>
  void unless_it_fails(const std::string& what, const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      missing_.failed.push_back(text(what, ": ", error.what()));
    }
  }

  // Keeps each round that was completed.
  void run_rounds(const Sides& sides) {
    for (std::int64_t round = 0; round < repeats_; ++round) {
      Rounds both{sides.model, sides.ranks, {}, {}};
      run_round(sides, round, both);
      if (round == 0) {
        all_.push_back(std::move(both));
      } else {
        all_.back().add(both);
      }
    }
  }

  // Another side begins in each round.
  void run_round(const Sides& sides, std::int64_t round, Rounds& into) {
    const auto begin = [&](const char* side) {
      progress_.begin(text(name_of(sides), ": round ", round + 1, " of ", repeats_, ", ", side));
    };
    const auto ours = [&] {
      begin("ours");
      into.ours.push_back(runner_.run_training(sides.ours));
    };
    const auto peer = [&] {
      if (sides.peer.empty()) return;
      begin("the peer");
      Words command = sides.peer;
      if (sides.ranks > 1 && has_torch(arguments_)) {
        command = launched(sides.ranks, with(command, {"--meet", meeting_.next()}));
      }
      into.peer.push_back(runner_.run_training(command));
    };
    if (round % 2 == 0) ours();
    peer();
    if (round % 2 == 1) ours();
  }

  const Arguments& arguments_;
  Words models_;
  std::vector<int> groups_;
  std::int64_t repeats_;
  Runner runner_;
  Meeting meeting_;
  StepCounter progress_;
  Machine machine_;
  std::vector<Rounds> all_;
  Missing missing_;
};

std::vector<int> groups_of(const Arguments& arguments) {
  std::vector<int> groups;
  for (const std::string& word : parts_of(arguments.get("ranks"))) {
    groups.push_back(ranks_of(word, 1));
  }
  if (groups.empty()) throw UsageError("--ranks: not a number; pass numbers such as 1 or 2,4");
  return groups;
}

int run(int argc, const char* const* argv) {
  const Options options = declared();
  const Arguments arguments = options.parse(argc, argv);
  if (arguments.asks_help()) {
    std::cout << options.help();
    return 0;
  }
  if (arguments.words() != Words{"train"}) {
    throw UsageError("say what to measure: ./lab bench train or ./lab bench all_reduce");
  }
  if (arguments.given("steps")) arguments.integer("steps", 1);
  Words models{"mlp", "gpt-small", "gpt"};
  if (const std::string& one = arguments.get("model"); one != "all") models = {one};
  const std::vector<int> groups = groups_of(arguments);
  check_way(arguments, groups);
  if (apps::uses_gpu(arguments)) apps::check_gpus(arguments, std::ranges::max(groups));
  TrainBench bench(arguments, std::move(models), groups);
  bench.measure();
  return bench.print();
}

}  // namespace

int main(int argc, char** argv) {
  const bool collective = argc > 1 && std::string(argv[1]) == "all_reduce";
  return lockstep::apps::run_program("lab bench", [&] {
    return collective ? lockstep::bench::run_all_reduce(argc, argv) : run(argc, argv);
  });
}
