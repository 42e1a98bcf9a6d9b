// One loop over descriptors: signals, other launchers, ends of processes and their output. Nothing
// is polled by time, so the first failure is acted upon at once.
#include "engine/launch/launcher.hpp"

#include <poll.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "engine/base/error.hpp"
#include "engine/launch/guard.hpp"
#include "engine/launch/local_ranks.hpp"
#include "engine/launch/nodes.hpp"
#include "engine/launch/signals.hpp"

namespace lockstep::launch {

namespace {

// The signals that schedulers send to tell a program something, as Slurm's --signal=USR1@60 does.
constexpr int passed_signals[]{SIGUSR1, SIGUSR2};

class Launch {
 public:
  Launch(const LaunchOptions& options, Nodes& nodes) : options_(options), nodes_(nodes) {}

  Ending run() {
    nodes_.start();
    while (true) {
      for (const Order& order : nodes_.serve()) obey(order);
      if (ending_ && (!ranks_ || ranks_->running() == 0)) return whole(*ending_);
      wait();
      if (ranks_) watch_ranks();
      while (const auto number = signals_.take()) forward(*number);
    }
  }

 private:
  // Logs that were asked for and are not whole are no success.
  Ending whole(Ending ending) const {
    if (!ranks_ || ranks_->lost_log().empty()) return ending;
    ending.code = 1;
    ending.report += (ending.report.empty() ? "" : "\n") + ranks_->lost_log();
    return ending;
  }

  void obey(const Order& order) {
    const Command& command = order.command;
    switch (command.kind) {
      case Command::Kind::begin:
        if (!command.report.empty()) std::cerr << command.report + "\n" << std::flush;
        begin(order.plan);
        break;
      case Command::Kind::end:
        ending_ = {command.code, command.report};
        [[fallthrough]];
      case Command::Kind::stop:
        if (ranks_) stop(command);
        break;
      case Command::Kind::wait:
        std::cerr << command.report + "\n" << std::flush;
        break;
    }
  }

  void stop(const Command& command) {
    const bool saves = command.grace == Command::Grace::to_save;
    const double grace_s =
        saves ? options_.interrupt_grace_s.value_or(options_.grace_s) : options_.grace_s;
    if (!ranks_->stopping()) {
      ranks_->stop(SIGTERM, grace_s);
    } else if (saving_) {
      ranks_->hurry(grace_s);  // one of them cannot save, so none can
    }
    saving_ = saves;
  }

  void begin(Plan plan) {
    plan.mark = guard_.mark();
    if (!folder_) {
      folder_.emplace(options_.log_dir, plan.run_id);
      if (folder_->kept()) {
        std::cerr << "logs: " + folder_->path().string() + "\n";
      } else {
        guard_.remove_after_us(folder_->path());
      }
    }
    told_failed_ = told_ended_ = saving_ = false;
    tell_at_.reset();
    kill_rest_at_.reset();
    ranks_.reset();
    ranks_ = std::make_unique<LocalRanks>(options_, plan, *folder_, signals_.before());
    nodes_.begun();
  }

  void wait() {
    std::vector<pollfd> entries{{signals_.fd(), POLLIN, 0}};
    nodes_.add_to(entries);
    if (ranks_) ranks_->add_to(entries);
    auto until = tell_at_        ? tell_at_
                 : kill_rest_at_ ? kill_rest_at_
                 : ranks_        ? ranks_->kill_at()
                                 : std::nullopt;
    // Once others have ended, a rank may become one that is done without, and tells us only by a
    // file.
    constexpr double look_again_s = 1;
    if (!until && ranks_ && ranks_->running() > 0 && ranks_->running() < options_.ranks) {
      until = comm::deadline_after(look_again_s);
    }
    if (const auto serves_at = nodes_.serves_at()) {
      until = until ? std::min(*until, *serves_at) : *serves_at;
    }
    poll(entries.data(), entries.size(), until ? comm::poll_ms_until(*until) : -1);
  }

  void watch_ranks() {
    ranks_->serve();
    if (is_time_to_tell()) {
      told_failed_ = true;
      tell_at_.reset();
      if (!ranks_->stopping()) ranks_->stop(SIGTERM, options_.grace_s);
      nodes_.failed();
    }
    if (saving_ && !told_failed_ && ranks_->cut_off() > 0) {
      told_failed_ = true;
      nodes_.failed();
    }
    kill_rest_in_time();
    if (ranks_->running() == 0 && !told_ended_) {
      told_ended_ = true;
      kill_marked(guard_.mark());  // before anybody may begin anew
      nodes_.ended(ranks_->failures(), ranks_->stopped());
    }
  }

  // A rank that blames its peers may be gone a moment before the one it waited for: sockets close
  // first when a process ends. That one is let end by itself, so that it is not taken for stopped.
  // A rank that the others do without ends nothing.
  bool is_time_to_tell() {
    constexpr double moment_s = 0.1;
    std::vector<Failure> failures = ranks_->failures();
    std::erase_if(failures, [](const Failure& failure) { return failure.spare; });
    if (failures.empty() || told_failed_) return false;
    if (!std::ranges::all_of(failures, is_reaction) || ranks_->running() == 0) return true;
    if (!tell_at_) tell_at_ = comm::deadline_after(moment_s);
    return comm::poll_ms_until(*tell_at_) == 0;
  }

  // When only ranks are left that the others did without, they get some time: one may hang.
  void kill_rest_in_time() {
    constexpr double time_s = 5;
    if (ranks_->stopping()) return;
    const std::vector<int> rest = ranks_->running_spares();
    if (rest.empty() || std::ssize(rest) < ranks_->running()) return kill_rest_at_.reset();
    if (!kill_rest_at_) kill_rest_at_ = comm::deadline_after(time_s);
    if (comm::poll_ms_until(*kill_rest_at_) > 0) return;
    for (const int rank : rest) {
      std::cerr << text("rank ", rank, " still runs ", time_s,
                        " s after those that the run needs have ended: it is killed")
                << std::endl;
    }
    ranks_->signal(SIGKILL);
    kill_rest_at_ = comm::deadline_after(time_s);
  }

  // Only a signal that asks us to end ends the run.
  void forward(int number) {
    if (std::ranges::find(passed_signals, number) != std::end(passed_signals)) {
      if (ranks_) ranks_->signal(number);
      return;
    }
    if (ranks_) ranks_->stop(number, options_.interrupt_grace_s.value_or(options_.grace_s));
    nodes_.interrupted(name_of_signal(number));
  }

  const LaunchOptions& options_;
  Nodes& nodes_;
  Guard guard_;                      // before any thread starts
  Signals signals_{passed_signals};  // likewise
  std::optional<RunFolder> folder_;
  std::unique_ptr<LocalRanks> ranks_;
  bool told_failed_ = false, told_ended_ = false;
  bool saving_ = false;                         // ranks were told to stop, and have time to save
  std::optional<comm::Deadline> tell_at_;       // of a failure that others may have caused
  std::optional<comm::Deadline> kill_rest_at_;  // of ranks that the others did without
  std::optional<Ending> ending_;
};

}  // namespace

Ending run_ranks(const LaunchOptions& options) {
  if (options.ranks < 1) {
    throw UsageError(text("--ranks is ", options.ranks, ", but a run needs at least 1 rank"));
  }
  if (options.command.empty() && !options.body) {
    throw UsageError("no program to run: type it after --, as in ./lab run --ranks 2 -- PROGRAM");
  }
  const auto nodes = meet_nodes(options);
  return Launch(options, *nodes).run();
}

int launch(const LaunchOptions& options) {
  const Ending ending = run_ranks(options);
  if (!ending.report.empty()) std::cerr << ending.report + "\n" << std::flush;
  return ending.code;
}

}  // namespace lockstep::launch
