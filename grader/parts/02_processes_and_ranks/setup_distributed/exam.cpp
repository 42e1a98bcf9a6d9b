// The exam of setup_distributed. The judge makes up the machines: how many GPUs there are, what
// their names mean, who serves a store where; and the time, so that ranks come late or never.
#include "grader/parts/02_processes_and_ranks/setup_distributed/case.hpp"

#include <algorithm>

#include "grader/judge/case_runner.hpp"
#include "grader/parts/02_processes_and_ranks/setup_distributed/rules.hpp"

namespace lockstep::grader::setup_distributed {
namespace {

// A world: ranks on nodes, and the steps that all of them take.
class MachinesTrial {
 public:
  MachinesTrial(CaseRunner& runner, const std::vector<int>& ranks_per_node) : runner_(runner) {
    for (int node = 0; std::cmp_less(node, ranks_per_node.size()); ++node) {
      const std::uint64_t drawn = runner.draw() % 100000;
      cluster_.names.push_back(drawn % 2 == 0 ? text("node-", drawn) : text("fd00::", drawn));
      for (int local = 0; local < ranks_per_node[static_cast<std::size_t>(node)]; ++local) {
        cluster_.node_of.push_back(node);
        local_rank_.push_back(local);
      }
    }
    steps_.resize(cluster_.node_of.size());
    port_ = static_cast<int>(2000 + runner.draw() % 50000);
  }

  int size() const { return static_cast<int>(steps_.size()); }

  // Another step: every rank comes at once and has a GPU of its own.
  MachinesTrial& step() {
    for (int rank = 0; rank < size(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      steps_[r].push_back({.gpus = 8,
                           .variables = {{"RANK", text(rank)},
                                         {"WORLD_SIZE", text(size())},
                                         {"LOCAL_RANK", text(local_rank_[r])},
                                         {"MASTER_ADDR", cluster_.names.front()},
                                         {"MASTER_PORT", text(port_)}}});
    }
    return *this;
  }
  SetupStep& last(int rank) { return steps_[static_cast<std::size_t>(rank)].back(); }

  // In the last step this rank's variable is `value`, or missing; that makes no sense.
  void damage(int rank, const std::string& variable, const std::optional<std::string>& value) {
    auto& variables = last(rank).variables;
    variables.erase(variable);
    if (value) variables[variable] = *value;
    const auto number = static_cast<std::uint32_t>(steps_.front().size() - 1);
    damaged_[{number, rank}] = {
        variable, value ? text(variable, " is \"", *value, "\"") : text(variable, " is not set")};
  }

  // In the last step the launcher serves the store, as in all steps of this world, unless it is
  // gone.
  void launcher_serves(int attempt, SetupRun::Store store = SetupRun::Store::answers) {
    const int port = port_ + 1;
    store_ = store;
    if (store == SetupRun::Store::answers) launchers_ = {0, port};
    for (int rank = 0; rank < size(); ++rank) {
      last(rank).variables["LOCKSTEP_STORE"] = text(cluster_.names.front(), ":", port);
      last(rank).variables["TORCHELASTIC_RESTART_COUNT"] = text(attempt);
    }
  }

  // In the first step, the group of this rank fails while it is made.
  void lose(int rank) { lost_ = rank; }

  void play(const std::string& description, Written asks_for = Written::all) {
    if (asks_for != Written::all) {
      for (auto& steps : steps_) {
        for (SetupStep& step : steps) step.in_part = true;
      }
    }
    ServedStore store;
    Sessions sessions({.reports = 3});
    MachinesService machines(cluster_, store, sessions, launchers_, lost_);
    // Four times the calls of the store that are enough, and as many of the clock.
    const auto steps = static_cast<std::int64_t>(steps_.front().size());
    Situations asked;
    if (steps > 1) asked.insert(Situation::same_call_twice);
    const auto played = play_served(runner_, description, steps_, {&store, &machines, &sessions},
                                    steps * size() * (60 + 16 * size()), asked);
    if (!played) return;
    check_setup(runner_, *played,
                {steps_, store, machines, sessions, damaged_, store_, asks_for, lost_});
  }

 private:
  CaseRunner& runner_;
  MachineSet cluster_;
  std::vector<int> local_rank_;
  std::vector<std::vector<SetupStep>> steps_;
  std::map<std::pair<std::uint32_t, int>, std::pair<std::string, std::string>> damaged_;
  std::optional<MachinesService::Place> launchers_;
  SetupRun::Store store_ = SetupRun::Store::answers;
  int lost_ = -1;
  int port_ = 0;
};

const std::vector<std::vector<int>> layouts{{1}, {2}, {3}, {8}, {4, 4}, {1, 1}, {3, 1, 2}, {5, 8}};

std::string text_of(const std::vector<int>& layout) {
  std::string list;
  for (const int ranks : layout) list += text(list.empty() ? "" : " + ", ranks);
  return text(list, layout == std::vector{1} ? " rank" : " ranks");
}

void places(CaseRunner& runner) {
  for (const auto& layout : layouts) {
    MachinesTrial(runner, layout).step().play(text_of(layout), Written::group);
  }
  MachinesTrial here(runner, {4});
  here.step();
  for (int rank = 0; rank < 4; ++rank) here.last(rank).variables["MASTER_ADDR"] = "127.0.0.1";
  here.play("4 ranks, MASTER_ADDR 127.0.0.1", Written::group);
}

void late(CaseRunner& runner) {
  for (const int who : {0, 1, 4}) {
    MachinesTrial world(runner, {2, 3});
    world.step();
    world.last(who).after_s = 40;
    world.play(text("5 ranks, rank ", who, " 40 s late"));
  }
}

void backends(CaseRunner& runner) {
  // GPUs of node 0 and of node 1, where each has three ranks.
  for (const auto& [first, second] :
       std::vector<std::pair<int, int>>{{3, 3}, {0, 0}, {8, 0}, {0, 8}, {2, 3}, {3, 2}, {4, 3}}) {
    MachinesTrial world(runner, {3, 3});
    world.step();
    for (int rank = 0; rank < 6; ++rank) world.last(rank).gpus = rank < 3 ? first : second;
    world.play(text("3 + 3 ranks, ", first, " and ", second, " GPUs"), Written::group);
  }
}

// Rank 0 of 1; and rank 5 of 12, for which no other rank ever comes.
void good_variables(CaseRunner& runner) {
  MachinesTrial world(runner, {1});
  world.step();
  world.step();
  world.last(0).variables["TORCHELASTIC_RESTART_COUNT"] = "12";
  world.step();
  world.last(0).variables["RANK"] = "5";
  world.last(0).variables["WORLD_SIZE"] = "12";
  world.last(0).variables["LOCAL_RANK"] = "1";
  world.last(0).variables["MASTER_PORT"] = "65535";
  world.play("1 rank, variables that make sense", Written::variables);
}

void variables(CaseRunner& runner) {
  good_variables(runner);
  const std::vector<std::optional<std::string>> no_numbers{
      std::nullopt, "", "two", "2x", "-1", "1.0", "0x1", "4294967296"};
  MachinesTrial world(runner, {1});
  const auto refuse = [&](const std::string& variable, const std::optional<std::string>& value) {
    world.step();
    world.last(0).after_s = 1;
    world.damage(0, variable, value);
  };
  for (const char* variable : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"}) {
    for (const auto& value : no_numbers) refuse(variable, value);
  }
  // Right numbers, wrongly written.
  refuse("RANK", " 0");
  refuse("RANK", "+0");
  refuse("RANK", "-0");
  refuse("LOCAL_RANK", "-0");
  refuse("WORLD_SIZE", "1 ");
  refuse("WORLD_SIZE", "+1");
  refuse("LOCAL_RANK", "0 ");
  refuse("MASTER_PORT", " 29500");
  refuse("RANK", "1");  // of 1
  refuse("RANK", "7");
  refuse("WORLD_SIZE", "0");
  refuse("MASTER_PORT", "0");
  refuse("MASTER_PORT", "65536");
  refuse("MASTER_ADDR", std::nullopt);
  refuse("MASTER_ADDR", "");
  refuse("TORCHELASTIC_RESTART_COUNT", "once");
  refuse("TORCHELASTIC_RESTART_COUNT", "1;");
  refuse("LOCKSTEP_STORE", "nowhere");
  world.play("1 rank, one bad variable after the other", Written::variables);
}

void absent(CaseRunner& runner) {
  for (const auto& missing : std::vector<std::vector<int>>{{0}, {3}, {1, 2}, {0, 1}}) {
    MachinesTrial world(runner, {2, 2});
    world.step();
    // Rank 0 comes last, so its store is served as long as any rank waits.
    for (int rank = 0; rank < 4; ++rank) {
      world.last(rank).after_s = 4 - rank;
      world.last(rank).timeout_s = 25;
    }
    for (const int rank : missing) world.last(rank).comes = false;
    world.play(text("2 + 2 ranks, of which ", missing.size(), " never come"));
  }
  MachinesTrial slow(runner, {4});
  slow.step();
  slow.last(0).after_s = 15;
  slow.last(2).comes = false;
  for (int rank = 0; rank < 4; ++rank) slow.last(rank).timeout_s = 25;
  slow.play("4 ranks, rank 0 late by 15 s of 25 s, rank 2 missing");
  MachinesTrial impatient(runner, {4});
  impatient.step();
  for (int rank = 0; rank < 4; ++rank) impatient.last(rank).timeout_s = rank == 0 ? 10 : 25;
  impatient.last(2).comes = false;
  impatient.play("4 ranks, rank 2 missing, and rank 0 gives up first");
  MachinesTrial damaged(runner, {4});
  damaged.step();
  damaged.last(0).after_s = 1;
  damaged.damage(3, "LOCAL_RANK", "three");
  damaged.play("4 ranks, rank 3 with a bad LOCAL_RANK");
}

// A rank is lost while the group is made: every rank gets an error in time, and nothing stays
// open for the second session.
void lost_rank(CaseRunner& runner) {
  for (const int lost : {0, 2}) {
    MachinesTrial world(runner, {4});
    world.step();
    for (int rank = 0; rank < 4; ++rank) world.last(rank).timeout_s = 25;
    world.last(1).after_s = 10;
    world.step();
    for (int rank = 0; rank < 4; ++rank) world.last(rank).after_s = rank == lost ? 60 : 40;
    world.lose(lost);
    world.play(text("4 ranks, of which rank ", lost, " is lost while the group is made"));
  }
}

void one_after_the_other(CaseRunner& runner) {
  for (const auto& layout : std::vector<std::vector<int>>{{1}, {3}, {2, 2}}) {
    MachinesTrial world(runner, layout);
    for (int session = 0; session < 3; ++session) {
      world.step();
      // Time enough for rank 0 to have closed what it served.
      for (int rank = 0; rank < world.size(); ++rank) world.last(rank).after_s = rank == 0 ? 1 : 2;
    }
    world.play(text(text_of(layout), ", three sessions at one address"));
  }
  // After a failure: a rank that waits in vain also closes what it has opened.
  MachinesTrial again(runner, {3});
  again.step();
  again.last(1).comes = false;
  again.last(0).after_s = 1;
  again.step();
  for (int rank = 0; rank < 3; ++rank) again.last(rank).after_s = rank == 1 ? 100 : 3 + rank;
  again.play("3 ranks, one missing, then a second session");
}

void launchers_store(CaseRunner& runner) {
  for (const auto& layout : std::vector<std::vector<int>>{{1}, {3}, {2, 2}}) {
    MachinesTrial world(runner, layout);
    for (const int attempt : {0, 1, 2}) {
      world.step().launcher_serves(attempt);
      // The second attempt finds one GPU less, the third has all of them again.
      if (attempt == 1) world.last(world.size() - 1).gpus = 0;
      world.last(world.size() - 1).after_s = 3;
    }
    world.play(text(text_of(layout), ", a store of the launcher's, three attempts"));
  }
  // Written without anything between them, attempt 1 and rank 10 are attempt 11 and rank 0. In
  // attempt 11 rank 0 comes late, and what it finds under that key is of the rank without a GPU.
  MachinesTrial many(runner, {12});
  for (const int attempt : {1, 11}) {
    many.step().launcher_serves(attempt);
    for (int rank = 0; rank < 12; ++rank) many.last(rank).gpus = 12;
    for (const int rank : {10, 11}) many.last(rank).gpus = attempt == 1 ? 0 : 12;
    for (const int rank : {0, 1}) many.last(rank).after_s = attempt == 1 ? 0 : 5 * (rank + 1);
  }
  many.play("12 ranks, a store of the launcher's, attempts 1 and 11");
  MachinesTrial world(runner, {3});
  world.step().launcher_serves(5);
  world.last(0).comes = false;
  world.last(2).comes = false;
  world.play("3 ranks, a store of the launcher's, two missing");
  MachinesTrial alone(runner, {3});
  alone.step().launcher_serves(0, SetupRun::Store::silent);
  alone.play("3 ranks, a store of the launcher's that does not answer");
}

}  // namespace

Exam exam() {
  return {
      {.name = "the error names a variable that is missing or invalid",
       .run = variables,
       .begins = Step{"read the variables", 30}},
      {.name = "rank, size and device are right on every node, and rank 0 serves the one store",
       .run = places,
       .begins = Step{"make the group", 35}},
      {"all ranks agree: nccl if each has a GPU of its own, otherwise gloo", backends},
      {.name = "if a rank is late, all ranks are set up together, behind a barrier",
       .run = late,
       .begins = Step{"meet in time, and leave nothing behind", 35}},
      {"ranks that never arrive are named when the whole setup's timeout ends", absent},
      {"if a rank is lost while the group is made, every rank gets an error in time", lost_rank},
      {"sessions can follow each other, even after a failed one: nothing stays open",
       one_after_the_other},
      {"the launcher's store is used, and attempts on it do not mix", launchers_store},
  };
}

}  // namespace lockstep::grader::setup_distributed
