// bench: how fast the engine is, beside others where they are asked for. What is compared runs in
// turns within one call, each time in fresh processes of one thread, because a machine is not the
// same from one minute to the next; what counts is the ratio of each round. A single process is
// kept on one core; ranks have all of them.
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "engine/apps/bench_collective.hpp"
#include "engine/apps/bench_report.hpp"
#include "engine/apps/program.hpp"
#include "engine/base/error.hpp"
#include "engine/base/options.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::bench;
using Words = std::vector<std::string>;

Options declared() {
  Options options(
      "lab bench",
      "Trains models, data parallel over several ranks if they are named, on one thread "
      "a rank, and prints speed, memory and start-up, beside those of PyTorch when it "
      "is named as the peer.");
  options.words("train", "what to measure")
      .choice("peer", {"none", "torch", "torch-as-installed"}, "none",
              "PyTorch as fast as it can be made here, or as it comes")
      .choice("model", {"all", "mlp", "gpt-small", "gpt"}, "all", "what to train")
      .option("ranks", "1", "sizes of the group, with commas")
      .option("repeats", "5", "rounds, each fresh processes of each side")
      .option("steps", "", "steps of one repetition, of which a process makes three")
      .flag("json", "one JSON document instead of the table")
      .option("torch-python", "python3", "the Python that has PyTorch; also TORCH_PYTHON=…")
      .option("torch-script", "tests/bench/torch_train.py", "the peer's program");
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

void say(const std::string& line) {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "  " << line << "\n";
}

bool has_peer(const Arguments& arguments) { return arguments.get("peer") != "none"; }

// The peer's command, with the variant that a short trial found to be the fastest.
Words peer_command(const Arguments& arguments, const std::string& model) {
  Words command{arguments.get("torch-python"), arguments.get("torch-script"), "--model", model};
  if (arguments.get("peer") == "torch-as-installed") return command;
  // glibc gives large blocks back to the system at once, and PyTorch asks for them again each step.
  command = with({"env", "MALLOC_TRIM_THRESHOLD_=4000000000", "MALLOC_MMAP_THRESHOLD_=1000000000"},
                 command);
  say(model + ": looking for PyTorch's fastest variant");
  const Json trial = run_for_json(with(command, {"--fastest"}));
  const auto products = trial.find("products");
  if (products == trial.end() || !products->is_string()) {
    throw Error("bench: PyTorch's trial printed no \"products\" but " + trial.dump());
  }
  return with(command, {"--products", products->get<std::string>()});
}

// `peer` is empty, or the peer's command for one process.
Sides sides_of(const Arguments& arguments, const std::string& model, int ranks, Words peer) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  Sides sides{model, ranks, {(here / "bench-train").string(), "--model", model}, std::move(peer)};
  if (arguments.given("steps")) {
    const Words steps{"--steps", arguments.get("steps")};
    sides.ours = with(sides.ours, steps);
    if (!sides.peer.empty()) sides.peer = with(sides.peer, steps);
  }
  if (ranks > 1) sides.ours = launched(ranks, sides.ours);
  return sides;
}

// Who begins changes from round to round.
void run_round(const Sides& sides, std::int64_t round, Meeting& meeting, Rounds& into) {
  say(text(sides.model, ", ", ranks_text(sides.ranks), ": round ", round + 1));
  const auto ours = [&] { into.ours.push_back(run_training(sides.ours)); };
  const auto peer = [&] {
    if (sides.peer.empty()) return;
    Words command = sides.peer;
    if (sides.ranks > 1) command = launched(sides.ranks, with(command, {"--meet", meeting.next()}));
    into.peer.push_back(run_training(command));
  };
  if (round % 2 == 0) ours();
  peer();
  if (round % 2 == 1) ours();
}

std::vector<int> groups_of(const Arguments& arguments) {
  std::vector<int> groups;
  for (const std::string& word : parts_of(arguments.get("ranks"))) {
    groups.push_back(ranks_of(word, 1));
  }
  if (groups.empty()) throw UsageError("--ranks: no number; pass numbers such as 1 or 2,4");
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
  const std::int64_t repeats = arguments.integer("repeats", 1);
  if (arguments.given("steps")) arguments.integer("steps", 1);
  if (has_peer(arguments)) require_torch(arguments.get("torch-python"), "train");

  Machine machine = this_machine();
  const std::vector<int> groups = groups_of(arguments);
  if (groups == std::vector<int>{1}) machine.pinned_to_core = pin_to_one_core();
  Meeting meeting;
  std::vector<Rounds> all;
  int status = 0;
  for (const std::string model : {"mlp", "gpt-small", "gpt"}) {
    if (arguments.get("model") != "all" && arguments.get("model") != model) continue;
    const Words peer = has_peer(arguments) ? peer_command(arguments, model) : Words{};
    for (const int ranks : groups) {
      const Sides sides = sides_of(arguments, model, ranks, peer);
      Rounds rounds{model, ranks, {}, {}};
      for (std::int64_t round = 0; round < repeats; ++round) {
        run_round(sides, round, meeting, rounds);
      }
      all.push_back(rounds);
      if (const std::string why = disagreement(rounds); !why.empty()) {
        std::cerr << "lab bench: " << why << "\n";
        status = 1;
      }
    }
  }
  if (arguments.flag("json")) {
    std::cout << report(all, machine).dump(1) << "\n";
  } else {
    std::cout << table(all, machine);
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const bool collective = argc > 1 && std::string(argv[1]) == "all_reduce";
  return lockstep::apps::run_program("lab bench", [&] {
    return collective ? lockstep::bench::run_all_reduce(argc, argv) : run(argc, argv);
  });
}
