// One loop over descriptors: signals, ends of processes, and their output. Nothing is polled by
// time, so the first failure is acted upon at once.
#include "engine/launch/launcher.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/comm/tcp_store.hpp"
#include "engine/launch/lines.hpp"
#include "engine/launch/process.hpp"

namespace lockstep::launch {

namespace {

using comm::Deadline;
using comm::Descriptor;

// Blocks the signals that the launcher forwards and makes them readable; undone at the end.
class Signals {
 public:
  Signals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&blocked, number);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    fd_ = Descriptor(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }
  std::optional<int> take() {
    signalfd_siginfo info{};
    if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  Descriptor fd_;
};

std::string name_of_signal(int number) {
  const char* name = sigabbrev_np(number);
  return name ? text("SIG", name) : text("signal ", number);
}

std::string text_of_status(int status) {
  if (WIFEXITED(status)) return text("exited with code ", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  return text("was killed by signal ", number, " (", name_of_signal(number), ")");
}

struct Rank {
  Rank(int number, const ProcessOptions& options, const std::string& prefix)
      : rank(number),
        process(options),
        out(STDOUT_FILENO, prefix, last),
        err(STDERR_FILENO, prefix, last) {}
  int rank;
  Process process;
  std::deque<std::string> last;
  Lines out, err;
};

// Reads what is there. At the end of the stream the descriptor is closed.
void pump(Descriptor& from, Lines& lines) {
  char part[4096];
  while (from.get() >= 0) {
    const ssize_t got = read(from.get(), part, sizeof part);
    if (got < 0) return;
    if (got == 0) {
      lines.finish();
      from.reset();
      return;
    }
    lines.add({part, static_cast<std::size_t>(got)});
  }
}

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : options_(options) {}

  int run() {
    const comm::StoreServer store(options_.port, options_.host);
    for (int rank = 0; rank < options_.ranks; ++rank) start(rank, store.port());
    while (running() > 0) step();
    if (cause_.empty()) return 0;
    std::cerr << cause_ << std::endl;
    return 1;
  }

 private:
  void start(int rank, int port) {
    std::vector<std::string> inherited;
    for (char** entry = environ; *entry != nullptr; ++entry) inherited.emplace_back(*entry);
    const bool direct =
        options_.prefix == Prefix::none || (options_.prefix == Prefix::others && rank == 0);
    ProcessOptions process;
    process.command = options_.command;
    process.environment = environment_for(rank, options_, port, inherited);
    process.output = process.error = direct ? Stream::inherit : Stream::pipe;
    process.signal_mask = signals_.before();
    ranks_.push_back(std::make_unique<Rank>(rank, process, text("[rank ", rank, "] ")));
  }

  int running() const {
    int count = 0;
    for (const auto& rank : ranks_) count += rank->process.running() ? 1 : 0;
    return count;
  }

  void step() {
    std::vector<pollfd> entries{{signals_.fd(), POLLIN, 0}};
    for (const auto& rank : ranks_) {
      for (const int fd : {rank->process.output().get(), rank->process.error().get(),
                           rank->process.running() ? rank->process.exit_fd() : -1}) {
        if (fd >= 0) entries.push_back({fd, POLLIN, 0});
      }
    }
    poll(entries.data(), entries.size(), kill_at_ ? comm::poll_ms_until(*kill_at_) : -1);
    for (const auto& rank : ranks_) pump_both(*rank);
    reap();
    while (const auto number = signals_.take()) forward(*number);
    if (kill_at_ && comm::poll_ms_until(*kill_at_) == 0) {
      signal_all(SIGKILL);
      kill_at_.reset();
    }
  }

  static void pump_both(Rank& rank) {
    pump(rank.process.output(), rank.out);
    pump(rank.process.error(), rank.err);
  }

  // Several may have ended since the last look. A rank that was killed is then named before one
  // that exited: exits follow a kill when peers notice it, not the other way round.
  void reap() {
    const Rank* first = nullptr;
    int first_status = 0;
    for (const auto& rank : ranks_) {
      const auto status = rank->process.try_reap();
      if (!status) continue;
      pump_both(*rank);
      rank->out.finish();
      rank->err.finish();
      if (*status != 0 && (!first || (WIFSIGNALED(*status) && !WIFSIGNALED(first_status)))) {
        first = rank.get();
        first_status = *status;
      }
    }
    if (first && cause_.empty()) {
      cause_ = report(*first, first_status);
      stop(SIGTERM);
    }
  }

  std::string report(const Rank& rank, int status) const {
    std::string sentence = text("rank ", rank.rank, " of ", options_.ranks, " (pid ",
                                rank.process.pid(), ") ", text_of_status(status));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      sentence += "; if nobody did that by hand, memory ran out: see dmesg";
    }
    if (const int others = running(); others > 0) {
      sentence += others == 1 ? std::string("; the one rank still running was stopped")
                              : text("; the ", others, " ranks still running were stopped");
    }
    if (!rank.last.empty()) sentence += text("\nlast lines of rank ", rank.rank, ":");
    for (const std::string& line : rank.last) sentence += "\n  " + line;
    return sentence;
  }

  void forward(int number) {
    if (cause_.empty()) {
      cause_ = text("interrupted by ", name_of_signal(number), ": every rank got it too");
    }
    stop(number);
  }

  void stop(int number) {
    signal_all(number);
    if (!kill_at_) kill_at_ = comm::deadline_after(options_.grace_s);
  }

  void signal_all(int number) const {
    for (const auto& rank : ranks_) rank->process.signal(number);
  }

  const LaunchOptions& options_;
  Signals signals_;  // before any thread starts, so that all of them leave the signals to us
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::string cause_;
  std::optional<Deadline> kill_at_;
};

bool sets(const std::string& entry, const std::string& name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::vector<std::string> environment_for(int rank, const LaunchOptions& options, int port,
                                         const std::vector<std::string>& inherited) {
  std::vector<std::pair<std::string, std::string>> ours{{"RANK", text(rank)},
                                                        {"LOCAL_RANK", text(rank)},
                                                        {"ROLE_RANK", text(rank)},
                                                        {"GROUP_RANK", "0"},
                                                        {"WORLD_SIZE", text(options.ranks)},
                                                        {"LOCAL_WORLD_SIZE", text(options.ranks)},
                                                        {"ROLE_WORLD_SIZE", text(options.ranks)},
                                                        {"GROUP_WORLD_SIZE", "1"},
                                                        {"ROLE_NAME", "default"},
                                                        {"MASTER_ADDR", options.host},
                                                        {"MASTER_PORT", text(port)},
                                                        {"TORCHELASTIC_RESTART_COUNT", "0"},
                                                        {"TORCHELASTIC_MAX_RESTARTS", "0"},
                                                        {"TORCHELASTIC_RUN_ID", "none"},
                                                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  // N ranks that each start a thread per core would fight for the cores; torchrun does the same.
  const auto is_threads = [](const std::string& entry) { return sets(entry, "OMP_NUM_THREADS"); };
  if (options.ranks > 1 && std::ranges::none_of(inherited, is_threads)) {
    ours.emplace_back("OMP_NUM_THREADS", "1");
  }
  std::vector<std::string> all;
  for (const std::string& entry : inherited) {
    const auto replaced = [&](const auto& variable) { return sets(entry, variable.first); };
    if (std::ranges::none_of(ours, replaced)) all.push_back(entry);
  }
  for (const auto& [name, value] : ours) all.push_back(name + "=" + value);
  return all;
}

int launch(const LaunchOptions& options) {
  if (options.ranks < 1) {
    throw UsageError(text("--ranks is ", options.ranks, ", but a run needs at least 1 rank"));
  }
  if (options.command.empty()) {
    throw UsageError("no program to run: type it after --, as in ./lab run --ranks 2 -- PROGRAM");
  }
  return Launch(options).run();
}

}  // namespace lockstep::launch
