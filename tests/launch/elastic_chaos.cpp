// elastic-chaos: launchers that come and go at random moments while they train, and what the
// history of such a run is: each sample of each epoch was read once in the steps that count, the
// losses are those of one rank, restarts are counted right, an arrival loses no step, and nothing
// is left.
//   build/release/bin/elastic-chaos --scripts 60 --seed 1
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"
#include "tests/launch/elastic_script.hpp"
#include "tests/launch/leftovers.hpp"
#include "tests/launch/own_environment.hpp"

namespace {

using namespace lockstep;
using launch::Process;
using test::Event;
using test::Leftovers;
using test::number_after;
using test::Round;
using test::rounds_in;
using test::Script;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

constexpr double patience_s = 300;
constexpr int samples = 2000, batch = 10, global_batch = 100, steps = 80, restarts = 20;
constexpr double bar = 1e-10;  // of losses, in float64, as sums of other numbers of ranks differ

const Words train{
    LOCKSTEP_NOTING_TRAIN, "--data",        "synthetic",      "--dtype",          "float64",
    "--batch-size",        text(batch),     "--global-batch", text(global_batch), "--steps",
    text(steps),           "--lr-schedule", "constant"};

Words joined(Words all, const Words& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A launcher whose output goes into a file.
class Launcher {
 public:
  Launcher(const Words& command, const fs::path& output, const Words& variables)
      : output_(output), process_(options_of(command, output, variables)) {}
  void send(int signal) { kill(process_.pid(), signal); }
  // Nothing: it does not end.
  std::optional<int> end() {
    pollfd entry{process_.exit_fd(), POLLIN, 0};
    poll(&entry, 1, static_cast<int>(1000 * patience_s));
    const auto status = process_.try_reap();
    if (!status) return std::nullopt;
    return WIFEXITED(*status) ? WEXITSTATUS(*status) : -WTERMSIG(*status);
  }
  std::string seen() const { return content_of(output_); }

 private:
  static launch::ProcessOptions options_of(const Words& command, const fs::path& output,
                                           const Words& variables) {
    launch::ProcessOptions options;
    options.command =
        joined({"/bin/sh", "-c", "exec \"$@\" > " + output.string() + " 2>&1", "sh"}, command);
    options.environment = test::own_environment_with(variables);
    sigemptyset(&options.signal_mask);
    return options;
  }
  fs::path output_;
  Process process_;
};

std::map<int, double> losses_in(const fs::path& log) {
  std::map<int, double> losses;  // a step that was taken again counts as it was taken last
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == "step")
      losses[event["step"]] = event["loss"];
  }
  return losses;
}

class Run {
 public:
  Run(const Script& script, const std::map<int, double>& expected)
      : script_(script), expected_(expected), folder_(work_.path() / "noted") {
    fs::create_directory(folder_);
  }

  // Sentences of what is wrong; none: all is well.
  std::vector<std::string> run() {
    play();
    finish();
    if (script_.loses_store) {
      for (const auto& [name, launcher] : launchers_) {
        if (name == 0 || gone_.contains(name)) continue;
        check(codes_[name] == 0 || launcher->seen().find("It hosts the store") != std::string::npos,
              text("launcher ", name, " does not say that the store is lost"));
      }
      check_history("first", launchers_.at(0)->seen());
      told_ = launchers_.at(0)->seen();
      launchers_.clear();
      gone_.clear();
      noted_ = "again";
      come(0, 2);
      finish();
      check(codes_[0] == 0, "the run that was started again does not end well");
    } else {
      check(codes_[0] == 0, "node 0 does not end well");
    }
    check_history(noted_, launchers_.at(0)->seen());
    check_samples();
    check_losses();
    if (!leftovers_.wait_for_processes(10)) wrong_.push_back("processes are left after 10 s");
    for (const std::string& one : leftovers_.found("")) wrong_.push_back("left behind: " + one);
    if (!wrong_.empty()) wrong_.push_back(told_ + launchers_.at(0)->seen());
    return wrong_;
  }
  int arrivals() const { return arrivals_; }
  int steps_lost() const { return steps_lost_; }
  int rounds() const { return static_cast<int>(rounds_.size()); }
  double apart() const { return apart_; }

 private:
  void check(bool holds, const std::string& sentence) {
    if (!holds) wrong_.push_back(sentence);
  }

  void come(int name, int ranks) {
    fs::create_directories(folder_ / noted_);
    const Words variables =
        joined(leftovers_.variables(), {"NOTED_SAMPLES=" + (folder_ / noted_).string()});
    const std::string log = (work_.path() / "log.jsonl").string();
    const Words trains = joined(train, script_.save);
    const Words command = joined(
        joined({LOCKSTEP_RUN, "--nnodes", "1:4", "--max-restarts", text(restarts), "--last-call",
                "0.2", "--ranks", text(ranks), "--rdzv-endpoint", endpoint_, "--"},
               trains),
        {"--checkpoint", (work_.path() / "run").string(), "--save-every", "7", "--resume", "auto",
         "--log", log});
    const fs::path output = work_.path() / text(noted_, "_", name);
    launchers_[name] = std::make_unique<Launcher>(command, output, variables);
    if (name != 0) return;
    const std::string words = " at 127.0.0.1:";
    while (launchers_[0]->seen().find(": the others may") == std::string::npos) {
      poll(nullptr, 0, 2);
    }
    endpoint_ = text("127.0.0.1:", number_after(launchers_[0]->seen(), words));
  }

  void play() {
    const auto began = comm::deadline_after(0);
    for (const Event& event : script_.events) {
      const auto at = began + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(event.at_s));
      poll(nullptr, 0, comm::poll_ms_until(at));
      if (event.kind == Event::Kind::come) {
        come(event.who, event.ranks);
      } else if (event.kind == Event::Kind::kill_rank) {
        const auto pid = leftovers_.process_of_rank(event.who);
        if (pid) kill(*pid, SIGKILL);
      } else {
        launchers_.at(event.who)->send(event.kind == Event::Kind::kill ? SIGKILL : SIGTERM);
        gone_.insert(event.who);
        if (event.who == 0) return;  // one that comes later would serve a run of its own
      }
    }
  }

  void finish() {
    for (const auto& [name, launcher] : launchers_) {
      const auto code = launcher->end();
      check(code.has_value(), text("launcher ", name, " does not end"));
      codes_[name] = code.value_or(-1000);
      const bool may_fail = script_.loses_store && noted_ == "first";
      check(gone_.contains(name) || may_fail || codes_[name] == 0,
            text("launcher ", name, " ends with ", codes_[name], ":\n", launcher->seen()));
    }
  }

  // The rounds of a run, and the steps of each that count.
  void check_history(const std::string& where, const std::string& seen) {
    std::vector<Round> rounds = rounds_in(seen);
    for (std::size_t i = 0; i + 1 < rounds.size(); ++i) {
      const int used = rounds[i].restarts_left - rounds[i + 1].restarts_left;
      check(used == (rounds[i].failed ? 1 : 0),
            text("round ", rounds[i].number, " uses ", used, " restarts"));
    }
    for (const Round& round : rounds) {
      places_.push_back({where, round});
      rounds_.push_back(round);
    }
  }

  std::vector<std::string> lines_of(const std::string& where, int round, int rank) const {
    std::istringstream all(content_of(folder_ / where / text(round, "_", rank)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
  }

  void check_samples() {
    std::vector<std::map<std::int64_t, int>> epochs(steps * global_batch / samples);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const auto& [where, round] = places_[i];
      if (round.start < 0 || round.trainers < 1) continue;
      int until = steps;  // those after it were lost
      for (std::size_t j = i + 1; j < places_.size(); ++j) {
        if (places_[j].second.start < 0) continue;
        until = places_[j].second.start;
        break;
      }
      const int batches = global_batch / batch / round.trainers;
      int taken = 0;
      for (int rank = 0; rank < round.trainers; ++rank) {
        const auto lines = lines_of(where, round.number, rank);
        for (std::size_t line = 0; line < lines.size(); ++line) {
          const int step = round.start + static_cast<int>(line) / batches;
          taken = std::max(taken, step + 1 - round.start);
          if (step >= until) continue;
          std::istringstream numbers(lines[line]);
          for (std::int64_t sample = 0; numbers >> sample;) {
            ++epochs[static_cast<std::size_t>(step * global_batch / samples)][sample];
          }
        }
      }
      if (!round.came || round.failed || taken == 0) continue;
      ++arrivals_;
      steps_lost_ += round.start + taken - until;
    }
    for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
      const bool once =
          epochs[epoch].size() == samples &&
          std::ranges::all_of(epochs[epoch], [](auto& one) { return one.second == 1; });
      check(once, text("the samples of epoch ", epoch, " were not each read once"));
    }
    check(steps_lost_ == 0, text(steps_lost_, " steps were lost in arrivals"));
  }

  void check_losses() {
    const auto losses = losses_in(work_.path() / "log.jsonl");
    check(losses.size() == steps, text(losses.size(), " steps are in the log"));
    for (const auto& [step, loss] : losses) {
      apart_ = std::max(apart_, std::abs(loss - expected_.at(step)) / expected_.at(step));
    }
    check(apart_ <= bar, text("losses are ", apart_, " apart"));
  }

  const Script& script_;
  const std::map<int, double>& expected_;
  test::Scratch work_;
  Leftovers leftovers_;
  fs::path folder_;
  std::string noted_ = "first", endpoint_ = "127.0.0.1:0";
  std::map<int, std::unique_ptr<Launcher>> launchers_;
  std::set<int> gone_;
  std::map<int, int> codes_;
  std::vector<std::pair<std::string, Round>> places_;
  std::vector<Round> rounds_;
  std::string told_;  // by the launcher of node 0 that was killed
  std::vector<std::string> wrong_;
  int arrivals_ = 0, steps_lost_ = 0;
  double apart_ = 0;
};

// The losses of one rank that nobody disturbs.
std::map<int, double> undisturbed() {
  const test::Scratch work;
  const fs::path log = work.path() / "log.jsonl";
  Launcher alone(joined(train, {"--log", log.string()}), work.path() / "output", {});
  if (alone.end() != 0) throw Error("one rank alone does not train:\n" + alone.seen());
  return losses_in(log);
}

int run(const Arguments& arguments) {
  const auto scripts = static_cast<std::uint64_t>(arguments.integer("scripts", 1));
  const auto seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  const auto store_every = static_cast<int>(arguments.integer("store-every", 2));
  const auto expected = undisturbed();
  int wrong = 0, arrivals = 0, lost = 0, rounds = 0;
  double apart = 0;
  const auto first = static_cast<std::uint64_t>(arguments.integer("first", 0));
  for (std::uint64_t number = first; number < first + scripts; ++number) {
    const Script script = test::draw_script(seed, number, store_every);
    Run one(script, expected);
    const auto said = one.run();
    wrong += said.empty() ? 0 : 1;
    for (const std::string& sentence : said) {
      std::cout << text("seed ", seed, ", script ", number, ": ", sentence, "\n") << std::flush;
    }
    arrivals += one.arrivals();
    lost += one.steps_lost();
    rounds += one.rounds();
    apart = std::max(apart, one.apart());
  }
  std::cout << text(scripts, " scripts, ", rounds, " rounds, ", wrong, " wrong; ", lost,
                    " steps lost in ", arrivals, " arrivals; losses at most ", apart, " apart\n");
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("elastic-chaos", [&] {
    Options options("elastic-chaos", "Lets launchers come and go, and looks at what comes of it.");
    options.option("scripts", "10", "how many")
        .option("first", "0", "the number of the first")
        .option("seed", "1", "of everything that is drawn")
        .option("store-every", "6", "of so many scripts, one kills the launcher of node 0");
    const Arguments arguments = options.parse(argc, argv);
    if (!arguments.asks_help()) return run(arguments);
    std::cout << options.help();
    return 0;
  });
}
