#include "engine/launch/local_ranks.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/launch/address.hpp"
#include "engine/launch/error_file.hpp"
#include "engine/launch/lines.hpp"
#include "engine/launch/process.hpp"
#include "engine/launch/worker_variables.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;

Descriptor log_in(const std::filesystem::path& folder, const char* name) {
  const std::string path = (folder / name).string();
  Descriptor log(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (log.get() < 0) throw UsageError(text("cannot write ", path, "; change --log-dir"));
  return log;
}

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

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

}  // namespace

struct LocalRanks::Rank {
  Rank(int number, const ProcessOptions& options, std::optional<std::string> prefix,
       RankFiles its_files, Descriptor log_of_out, Descriptor log_of_err)
      : rank(number),
        files(std::move(its_files)),
        process(options),
        out_log(std::move(log_of_out)),
        err_log(std::move(log_of_err)),
        out(STDOUT_FILENO, prefix, last, out_log.get()),
        err(STDERR_FILENO, prefix, last, err_log.get()) {}

  void pump_both() {
    pump(process.output(), out);
    pump(process.error(), err);
  }

  int rank;
  RankFiles files;
  Process process;
  Descriptor out_log, err_log;
  std::deque<std::string> last;
  Lines out, err;
};

LocalRanks::LocalRanks(const LaunchOptions& options, const Plan& plan, const RunFolder& folder,
                       const sigset_t& signal_mask)
    : plan_(plan) {
  const auto& counts = plan.ranks_per_node;
  const int first = std::accumulate(counts.begin(), counts.begin() + plan.node, 0);
  for (int local = 0; local < options.ranks; ++local) {
    const int rank = first + local;
    const auto own = folder.of_rank(plan.attempt, local);
    const bool prefixed =
        options.prefix == Prefix::all || (options.prefix == Prefix::others && rank != 0);
    ProcessOptions process;
    process.command = options.command;
    process.body = options.body;
    const RankFiles files{(own / "error.json").string(), (own / "spare").string()};
    process.environment = environment_of(plan, local, files, own_environment());
    // A terminal that is the rank's own stays one: only what must be read goes through a pipe.
    process.output = process.error = prefixed || folder.kept() ? Stream::pipe : Stream::inherit;
    process.signal_mask = signal_mask;
    ranks_.push_back(std::make_unique<Rank>(
        rank, process, prefixed ? std::optional(text("[rank ", rank, "] ")) : std::nullopt, files,
        folder.kept() ? log_in(own, "stdout.log") : Descriptor(),
        folder.kept() ? log_in(own, "stderr.log") : Descriptor()));
  }
}

LocalRanks::~LocalRanks() = default;

int LocalRanks::running() const {
  return static_cast<int>(
      std::ranges::count_if(ranks_, [](const auto& rank) { return rank->process.running(); }));
}

// On several nodes the end of a rank would have to be weighed by all of them: there, only those are
// spare that have stood by from the start.
bool LocalRanks::is_spare(const Rank& rank) const {
  if (plan_.ranks_per_node.size() == 1) return std::filesystem::exists(rank.files.spare);
  std::error_code none;
  return std::filesystem::file_size(rank.files.spare, none) > 0 && !none;
}

std::vector<int> LocalRanks::running_spares() const {
  std::vector<int> spares;
  if (plan_.ranks_per_node.size() > 1) return spares;  // the others may run on other nodes
  for (const auto& rank : ranks_) {
    if (rank->process.running() && is_spare(*rank)) spares.push_back(rank->rank);
  }
  return spares;
}

void LocalRanks::add_to(std::vector<pollfd>& entries) const {
  for (const auto& rank : ranks_) {
    Process& process = rank->process;
    for (const int fd : {process.output().get(), process.error().get(),
                         process.running() ? process.exit_fd() : -1}) {
      if (fd >= 0) entries.push_back({fd, POLLIN, 0});
    }
  }
}

void LocalRanks::serve() {
  for (const auto& rank : ranks_) {
    rank->pump_both();
    if (const auto status = rank->process.try_reap()) note_end(*rank, *status);
  }
  if (kill_at_ && comm::poll_ms_until(*kill_at_) == 0) {
    killed_ = true;
    signal(SIGKILL);
    kill_at_.reset();
  }
}

void LocalRanks::note_end(Rank& rank, int status) {
  rank.pump_both();
  rank.out.finish();
  rank.err.finish();
  const int lost = rank.out.log_error() != 0 ? rank.out.log_error() : rank.err.log_error();
  if (lost != 0 && lost_log_.empty()) {
    lost_log_ = text("the logs are not whole: that of rank ", rank.rank, " could not be written (",
                     std::strerror(lost), "); free some space, or change --log-dir");
  }
  if (status == 0) return;
  const auto report = read_error_file(rank.files.error);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool by_us = stopped_at_ && (signal == SIGTERM || signal == SIGINT || killed_);
  const bool said_before = report && stopped_at_ && report->seconds < *stopped_at_;
  const bool by_others = stopped_at_ && signal == SIGKILL && !killed_;
  if (stopped_at_ && signal != 0) ++cut_off_;
  if (stopped_at_ && !said_before && !by_others) return;
  if (stopped_at_) --stopped_;  // it was not stopped: it had failed already
  failures_.push_back({rank.rank,
                       plan_.node,
                       name_of_host(),
                       rank.process.pid(),
                       status,
                       report ? report->seconds : seconds_since_1970(),
                       report ? report->message : "",
                       report && report->blames_peers,
                       by_us,
                       is_spare(rank),
                       {rank.last.begin(), rank.last.end()},
                       report && report->saved,
                       report ? report->ranks_needed : 0});
}

void LocalRanks::signal(int number) {
  for (const auto& rank : ranks_) rank->process.signal(number);
}

void LocalRanks::stop(int number, double grace_s) {
  if (!stopped_at_) {
    stopped_at_ = seconds_since_1970();
    stopped_ = running();
    kill_at_ = comm::deadline_after(grace_s);
  }
  signal(number);
}

void LocalRanks::hurry(double grace_s) {
  if (kill_at_) kill_at_ = std::min(*kill_at_, comm::deadline_after(grace_s));
}

}  // namespace lockstep::launch
