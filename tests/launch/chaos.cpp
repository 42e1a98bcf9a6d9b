// chaos: ends one random rank of a run at a random moment in a random way, many times, and looks at
// what is left and at what the launcher says. A run is a loop of collectives, or a training.
//   build/release/bin/chaos --runs 200 --seed 7
//   build/release/bin/chaos --runs 200 --nodes 2      two launchers, each a node; both must know
//   build/release/bin/chaos --runs 200 --train        bin/train, in each of its ways
// A worker of parameter servers that the others can do without ends nothing: they train to the end,
// and name it.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "engine/apps/program.hpp"
#include "engine/base/options.hpp"
#include "tests/launch/chaos_case.hpp"
#include "tests/launch/leftovers.hpp"
#include "tests/launch/own_environment.hpp"

namespace {

using namespace lockstep;
using launch::Process;
using test::Case;
using test::Leftovers;
using Clock = std::chrono::steady_clock;

constexpr double patience_s = 200;  // then a run that has not ended counts as one that does not

// What came of it.
struct Result {
  double seconds = 0;     // from the rank's end until no process of the run was there any more
  bool went_on = false;   // the others did without the rank
  bool too_late = false;  // all ranks had trained to the end before that moment
  std::string wrong;      // empty: it ended, and the cause was named first
  std::vector<std::string> left;
};

using Words = std::vector<std::string>;

// A launcher with its ranks, everything it prints read into one text.
class Launcher {
 public:
  Launcher(const Words& options, const Case& drawn, const Leftovers& leftovers)
      : process_(process_options(options, drawn, leftovers)) {}

  // Until then, or until the launcher has closed its output.
  void read_until(Clock::time_point until) {
    while (open_) {
      pollfd entries[]{{process_.output().get(), POLLIN, 0}, {process_.error().get(), POLLIN, 0}};
      if (poll(entries, 2, comm::poll_ms_until(until)) == 0) return;
      const bool out = read_some(process_.output());
      open_ = read_some(process_.error()) || out;
    }
  }
  std::optional<int> end(double within_s) {
    read_until(comm::deadline_after(within_s));
    pollfd entry{process_.exit_fd(), POLLIN, 0};
    poll(&entry, 1, open_ ? 0 : 1000);
    return process_.try_reap();
  }
  bool running() const { return open_; }
  const std::string& seen() const { return seen_; }

 private:
  static launch::ProcessOptions process_options(const Words& words, const Case& drawn,
                                                const Leftovers& leftovers) {
    launch::ProcessOptions options;
    options.command = {LOCKSTEP_RUN};
    const auto add = [&](const Words& more) {
      options.command.insert(options.command.end(), more.begin(), more.end());
    };
    add(words);
    add({"--"});
    add(drawn.program);
    options.environment = test::own_environment_with(leftovers.variables());
    sigemptyset(&options.signal_mask);
    return options;
  }
  bool read_some(comm::Descriptor& from) {
    char part[4096];
    ssize_t got;
    while ((got = read(from.get(), part, sizeof part)) > 0) {
      seen_.append(part, static_cast<std::size_t>(got));
    }
    return got < 0;
  }

  Process process_;
  std::string seen_;
  bool open_ = true;
};

// Ends the rank; when that was, and its process. Nothing when the run was over before.
struct Kill {
  Clock::time_point at;
  pid_t pid = 0;
  bool spare = false;  // the rank had told the launcher that the others can do without it
};
std::optional<Kill> kill_rank(Launcher& launcher, const Case& drawn, const Leftovers& leftovers) {
  while (launcher.running()) {
    const auto pid = leftovers.process_of_rank(drawn.victim);
    const bool spare = pid && std::filesystem::exists(test::variable_of(*pid, "LOCKSTEP_SPARE"));
    if (pid && kill(*pid, drawn.end->signal) == 0) return Kill{Clock::now(), *pid, spare};
    launcher.read_until(comm::deadline_after(0.001));
  }
  return std::nullopt;
}

// The moment at which a rank that ends itself said that it would.
std::optional<Clock::time_point> own_end(const std::string& seen) {
  const std::string words = "ends itself at ";
  const auto at = seen.find(words);
  if (at == std::string::npos) return std::nullopt;
  return Clock::time_point(std::chrono::microseconds(std::stoll(seen.substr(at + words.size()))));
}

// The launcher's own first line, after what it says of its meeting; lines of ranks begin with a
// bracket.
std::string first_line(const std::string& seen) {
  std::istringstream lines(seen);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("[rank ") && !line.starts_with("lab run: node ")) return line;
  }
  return "";
}

// Empty when this launcher ended with code 1 and said first who was the cause, and how it ended.
std::string what_is_wrong(const Launcher& launcher, std::optional<int> status, const Case& drawn,
                          const std::optional<Kill>& killed) {
  std::string wrong;
  const std::string line = first_line(launcher.seen());
  const std::string pid = killed ? text(killed->pid) : std::string();
  if (!line.starts_with(text("rank ", drawn.victim, " of ", drawn.ranks, " (pid ", pid)) ||
      line.find(drawn.end->said) == std::string::npos) {
    wrong += "the launcher says: " + (line.empty() ? "nothing" : line);
  }
  if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 1) {
    wrong += text(" [wait status ", status.value_or(-1), "]");
  }
  const std::string& seen = launcher.seen();
  const auto said = [&](const std::string& words) { return seen.find(words) != std::string::npos; };
  if (killed && killed->spare) {
    if (!said("] trained in ")) wrong += " [the others did not train to the end]";
    if (!said(text("worker ", drawn.victim, " is lost")))
      wrong += " [no worker is said to be lost]";
  }
  return wrong.empty() ? "" : wrong + "\n" + seen;
}

// With two nodes the first one says where the other finds it.
std::vector<std::unique_ptr<Launcher>> start(const Case& drawn, const Leftovers& leftovers) {
  std::vector<std::unique_ptr<Launcher>> launchers;
  if (drawn.nodes == 1) {
    const Words options{"--ranks", text(drawn.ranks)};
    launchers.push_back(std::make_unique<Launcher>(options, drawn, leftovers));
    return launchers;
  }
  const auto node = [&](int ranks, const std::string& port) {
    const Words options{"--nnodes",         "2", "--ranks", text(ranks), "--rdzv-endpoint",
                        "127.0.0.1:" + port};
    launchers.push_back(std::make_unique<Launcher>(options, drawn, leftovers));
  };
  node(1, "0");
  const std::string words = "at 127.0.0.1:";
  auto at = std::string::npos;
  while (at == std::string::npos && launchers[0]->running()) {
    launchers[0]->read_until(comm::deadline_after(0.001));
    at = launchers[0]->seen().find(words);
  }
  if (at != std::string::npos) {
    const auto digits = at + words.size();
    node(drawn.ranks - 1,
         launchers[0]->seen().substr(digits, launchers[0]->seen().find(':', digits) - digits));
  }
  return launchers;
}

Result run_once(const Case& drawn) {
  Leftovers leftovers;
  const auto launchers = start(drawn, leftovers);
  std::optional<Kill> killed;
  if (drawn.end->signal != 0) {
    launchers[0]->read_until(comm::deadline_after(drawn.after_s));
    killed = kill_rank(*launchers[0], drawn, leftovers);
  }
  Result result;
  result.went_on = killed && killed->spare;
  std::string printed;
  bool all_well = true;
  for (const auto& launcher : launchers) {
    const auto status = launcher->end(patience_s);
    all_well = all_well && status == 0;
    result.wrong += what_is_wrong(*launcher, status, drawn, killed);
    printed += launcher->seen();
  }
  const bool gone = leftovers.wait_for_processes(5);
  const auto over = Clock::now();

  const auto began = killed ? std::optional(killed->at) : own_end(printed);
  if (!began) result.wrong += "the rank was not ended\n";
  result.too_late = all_well && printed.find("] trained in ") != std::string::npos;
  if (began) result.seconds = std::chrono::duration<double>(over - *began).count();
  result.left = leftovers.found(printed);
  if (!gone) result.left.push_back("processes, after 5 s");
  return result;
}

// A training that a fast machine ends before the rank's moment is run again, at half of the moment.
Result run_in_time(Case& drawn) {
  Result result = run_once(drawn);
  for (int again = 0; result.too_late && result.left.empty() && again < 4; ++again) {
    drawn.after_s /= 2;
    result = run_once(drawn);
  }
  return result;
}

struct Sums {
  int runs = 0, named = 0;
  std::vector<double> seconds;
};

int run(const Arguments& arguments) {
  const std::int64_t runs = arguments.integer("runs", 1);
  const auto seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  const int nodes = arguments.get("nodes") == "2" ? 2 : 1;
  const bool trains = arguments.flag("train");
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::cout << text("seed ", seed, ", ", runs, " runs, ", nodes,
                    nodes == 1 ? " node\n" : " nodes\n");

  std::map<std::string, Sums> sums;
  int wrong = 0, left = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    Case drawn = trains ? test::draw_training(seed, number) : test::draw_loop(nodes, seed, number);
    const Result result = run_in_time(drawn);
    // A run that goes on takes as long as its training.
    const std::string went_on = result.went_on ? ", the others trained to the end" : "";
    for (const std::string& row : {drawn.row + went_on, "all" + went_on}) {
      Sums& sum = sums[row];
      ++sum.runs;
      sum.named += result.wrong.empty();
      sum.seconds.push_back(result.seconds);
    }
    left += static_cast<int>(result.left.size());
    if (!result.wrong.empty()) {
      ++wrong;
      std::cout << text("run ", i, ", ", text_of(drawn), ": ", result.wrong, "\n");
    }
    for (const std::string& one : result.left) {
      std::cout << text("run ", i, ", ", text_of(drawn), ": left behind: ", one, "\n");
    }
    std::cout << std::flush;
  }
  for (auto& [row, sum] : sums) {
    std::ranges::sort(sum.seconds);
    const auto ms = [&](std::size_t at) { return static_cast<int>(1000 * sum.seconds[at] + 0.5); };
    std::cout << text(row, ": ", sum.runs, " runs, the cause named first in ", sum.named,
                      "; ms until nothing ran: median ", ms(sum.seconds.size() / 2), ", worst ",
                      ms(sum.seconds.size() - 1), "\n");
  }
  std::cout << text("left behind: ", left, "\n");
  return wrong == 0 && left == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return apps::run_program("chaos", [&] {
    Options options("chaos", "Ends random ranks at random moments and looks at what comes of it.");
    options.option("runs", "10", "how often")
        .option("seed", "7", "of everything that is drawn")
        .choice("nodes", {"1", "2"}, "1", "launchers, all on this machine")
        .flag("train", "the ranks train, and do not only call collectives")
        .exclude({"nodes", "train"}, "do not combine; pass only one");
    const Arguments arguments = options.parse(argc, argv);
    if (!arguments.asks_help()) return run(arguments);
    std::cout << options.help();
    return 0;
  });
}
