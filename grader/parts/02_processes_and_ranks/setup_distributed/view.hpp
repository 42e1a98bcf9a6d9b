// One rank's view of one step of a run of setup_distributed: what it was told, what came of it, and
// what of the others.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "grader/parts/02_processes_and_ranks/setup_distributed/rules.hpp"

namespace lockstep::grader::setup_distributed {

struct View : RankInStep<SetupRun> {
  const SetupStep& of(int other) const { return run.ranks[static_cast<std::size_t>(other)][step]; }
  const SetupStep& mine() const { return of(rank); }
  int number(const char* variable) const { return std::stoi(mine().variables.at(variable)); }
  int size() const { return static_cast<int>(run.ranks.size()); }
  bool damaged(int who) const { return run.damaged.contains({step, who}); }

  // The ranks that can never be set up in this step.
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int other = 0; other < size(); ++other) {
      if (!of(other).comes || damaged(other)) ranks.push_back(other);
    }
    return ranks;
  }
  bool launcher_serves() const { return mine().variables.contains("LOCKSTEP_STORE"); }
  // The ranks to name. If rank 0 should serve the store and is missing, only rank 0 can be named.
  std::vector<int> named() const {
    const auto ranks = missing();
    if (!launcher_serves() && !ranks.empty() && ranks.front() == 0) return {0};
    return ranks;
  }
  double deadline_s() const { return called_s() + mine().timeout_s; }
  // Rank 0 gives up before this rank does, and its store goes with it: from then on no rank
  // can learn which ranks are missing.
  bool loses_the_store() const {
    if (rank == 0 || launcher_serves() || !of(0).comes || damaged(0)) return false;
    return View{{run, step, 0}}.deadline_s() < deadline_s();
  }
  double last_came_s() const {
    double last_s = 0;
    for (int other = 0; other < size(); ++other) {
      last_s = std::max(last_s, View{{run, step, other}}.called_s());
    }
    return last_s;
  }
  launch::Backend backend() const {
    for (int other = 0; other < size(); ++other) {
      if (of(other).gpus <= View{{run, step, other}}.number("LOCAL_RANK"))
        return launch::Backend::gloo;
    }
    return launch::Backend::nccl;
  }
  double slack_s() const { return 10 * (size() + 2) * setup_call_s; }
  // Views of what this rank did in this step.
  using ServedRequest = MachinesService::ServedRequest;
  std::vector<ServedRequest> in_this_step(const std::vector<ServedRequest>& all) const {
    std::vector<ServedRequest> mine;
    for (const ServedRequest& one : all) {
      if (one.rank == rank && one.at_s >= called_s() && one.at_s <= outcome_s()) {
        mine.push_back(one);
      }
    }
    return mine;
  }
  comm::Endpoint store() const {
    if (launcher_serves()) return *comm::endpoint_of(mine().variables.at("LOCKSTEP_STORE"));
    return {mine().variables.at("MASTER_ADDR"), number("MASTER_PORT")};
  }
  std::string name() const {
    return text("rank ", rank, " of ", size(), step == 0 ? "" : text(", session ", step + 1));
  }
};

// The outcome of a call, as a sentence goes on.
std::string words_of(const SessionReport& report);

// The rank was set up: what it was given is right, and the group that it made.
void check_session(CaseRunner& runner, const Played& played, const View& view);
// Rank 0 serves the store, once in each step, where it should.
void check_hosting(CaseRunner& runner, const Played& played, const View& view);

}  // namespace lockstep::grader::setup_distributed
