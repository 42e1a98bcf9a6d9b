// The bench an exam works at: it plays numbered cases with fresh inputs, and turns whatever goes
// wrong into one failure with its sentence. It owns the players; the core of each case is its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sim/core.hpp"
#include "engine/sim/process_host.hpp"
#include "grader/judge/judge.hpp"
#include "grader/judge/kept_run.hpp"

namespace lockstep::grader {

// What an exam throws, through Bench::fail, when a check does not hold.
struct Failure {
  sim::Verdict verdict = sim::Verdict::wrong_answer;
  std::string cause;    // stable: "averaged", "tail_lost", "cycle"
  std::string message;  // the sentence
  std::string expected, seen, where;
  std::map<std::string, double> counters;
  int case_number = 0;
  std::vector<std::string> output;  // of each rank
  std::vector<int> ranks{};         // those involved, where the core found it
};

// One case: who plays, and under which rules.
struct CaseSetup {
  std::string description;    // "4 ranks, 7 elements of int64, sum"
  std::vector<Bytes> inputs;  // by rank; their number is the number of ranks
  std::uint64_t schedule_seed = 0;
  sim::Network network;
  // Some ten times what the wordiest right answer needs; an endless exchange ends within seconds.
  sim::Limits limits{.messages_max = 10'000, .requests_max = 40'000};
  std::vector<sim::Service*> services;
};

struct Played {
  int number = 0;
  std::string description;
  std::vector<Bytes> results;  // by rank
  sim::Counters counters;
  std::vector<std::string> output;
};

class Bench {
 public:
  Bench(std::string exercise, std::string player, const JudgeOptions& options);

  // Plays the next case. nullopt when --case asked for another one. Throws Failure when the core or
  // the host found something (deadlock, crash, …).
  std::optional<Played> play(const CaseSetup& setup);
  // The same for a part that is a pure function: one rank, which talks to nobody.
  std::optional<Played> ask(const std::string& description, Bytes input);

  // How many cases were asked for, and how many of them were played (one at most with --case).
  int cases() const { return next_case_ - 1; }
  int played() const { return played_; }

  // Numbers for inputs: the same seed gives the same cases.
  std::uint64_t draw();
  std::uint64_t seed() const { return options_.seed; }

  // The judge's own sentence about a case it looked at.
  [[noreturn]] void fail(const Played& played, Failure failure) const;

  // For the timeline that is kept: the last case failed; there are no more.
  void note(const Failure& failure);
  void end() { kept_run_.end(); }

  // What is to be said when the results of the last case could not even be read: the player sent
  // something of its own instead of what its adapter packs.
  Failure unreadable_result(const std::string& why) const;

 private:
  std::string exercise_;
  std::string player_;
  JudgeOptions options_;
  std::unique_ptr<sim::ProcessHost> host_;
  int next_case_ = 1;
  int played_ = 0;
  std::uint64_t drawn_ = 0;
  Played last_;  // without its results
  KeptRun kept_run_;
};

// The checks of one exercise, in the order they build on each other.
struct Check {
  std::string name;                 // the sentence that is asserted
  std::function<void(Bench&)> run;  // throws Failure
};
using Exam = std::vector<Check>;

// The exams there are, by exercise (grader/exams, one file each).
const std::map<std::string, std::function<Exam()>>& exams();

}  // namespace lockstep::grader
