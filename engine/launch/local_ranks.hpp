// The ranks of this node in one attempt: started together, watched over descriptors, stopped
// together.
#pragma once

#include <poll.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/comm/stores/socket.hpp"
#include "engine/launch/folder.hpp"
#include "engine/launch/launcher.hpp"
#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

class LocalRanks {
 public:
  // Starts all of them, with `signal_mask` as their blocked signals. Throws UsageError.
  LocalRanks(const LaunchOptions& options, const Plan& plan, const RunFolder& folder,
             const sigset_t& signal_mask);
  ~LocalRanks();

  int running() const;
  // The running ranks that have said that the others can do without them. On a single node.
  std::vector<int> running_spares() const;
  // Adds the descriptors that serve() wants to be called for.
  void add_to(std::vector<pollfd>& entries) const;
  // Passes on what they printed, takes note of those that ended, kills those whose grace is over.
  void serve();

  // To every rank's process group.
  void signal(int number);
  // The same, and the first call begins the grace, after which SIGKILL follows.
  void stop(int number, double grace_s);
  // Ranks that are being stopped have this long from now on, if that is less than before.
  void hurry(double grace_s);
  bool stopping() const { return stopped_at_.has_value(); }
  std::optional<comm::Deadline> kill_at() const { return kill_at_; }

  // Those that failed by themselves: before the stop, or by their own clock before it.
  const std::vector<Failure>& failures() const { return failures_; }
  int stopped() const { return stopped_; }  // how many ran when they were stopped
  // The number of them that a signal ended: what they had to save is not saved.
  int cut_off() const { return cut_off_; }
  const std::string& lost_log() const { return lost_log_; }  // a sentence; empty: all is kept

 private:
  struct Rank;
  bool is_spare(const Rank& rank) const;
  void note_end(Rank& rank, int status);

  const Plan plan_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Failure> failures_;
  std::optional<double> stopped_at_;  // seconds since 1970, as error files have them
  std::optional<comm::Deadline> kill_at_;
  bool killed_ = false;
  int stopped_ = 0, cut_off_ = 0;
  std::string lost_log_;
};

}  // namespace lockstep::launch
