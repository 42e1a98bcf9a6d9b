// Runs the cases of an exam: it plays numbered cases with fresh inputs, and turns whatever goes
// wrong into one failure with its sentence. It owns the players; the core of each case is its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/sim/core/core.hpp"
#include "engine/sim/hosts/process_host.hpp"
#include "grader/judge/causes.hpp"
#include "grader/judge/judge.hpp"
#include "grader/judge/kept_run.hpp"
#include "grader/judge/results.hpp"
#include "grader/judge/situation.hpp"

namespace lockstep::grader {

// The exception that an exam throws, through CaseRunner::fail, if a check does not hold.
struct Failure {
  Verdict verdict = Verdict::wrong_answer;
  std::string cause{};    // stable: "averaged", "tail_lost", "cycle"
  std::string message{};  // the sentence
  std::string expected{}, seen{}, where{};
  std::map<std::string, double> counters{};
  CaseAddress at{};
  std::vector<std::string> output{};       // of each rank
  std::vector<int> ranks{};                // those involved, where the core found it
  std::vector<sim::FoundCall> calls{};     // and what they called, by rank of the world
  std::vector<std::uint64_t> thrown_at{};  // the calls that led to the exception, if that was it
  std::string origin{};                    // the case that was made smaller
  bool alone = true;                       // the case fails so without those before it

  // The sentence without its numbers: a case is made smaller only as long as the judge says the
  // same of it.
  std::string gist() const;
};

// Adds its cause to a failure: the cause is named, and told after the message.
Failure because(const Cause& cause, Failure found);
// The same for a failure that keeps the cause which it has.
Failure also_because(const std::string& sentence, Failure found);
// The same for a failure that may have a cause already, which this one replaces.
Failure because_instead(const Cause& cause, Failure found);

// kept: the players of the case before, so that a call sees what an earlier one left behind. fresh:
// new processes, so that nothing remembers an input that is played again.
enum class Players : unsigned char { kept, fresh };

// One case: who plays, and under which rules.
struct CaseSetup {
  std::string description;    // "4 ranks, 7 elements of int64, sum"
  std::vector<Bytes> inputs;  // by rank; their number is the number of ranks
  std::uint64_t schedule_seed = 0;
  sim::Network network;
  // Some ten times what the wordiest right answer needs; an endless exchange ends within seconds.
  sim::Limits limits{.messages_max = 10'000, .requests_max = 40'000};
  std::vector<sim::Service*> services;
  sim::Faults faults{};  // a rank that dies has no result
  Players players = Players::kept;
  std::vector<Situation> situations{};  // that the case puts the part into
};

struct Played {
  CaseAddress at;
  std::string description;
  std::shared_ptr<Results> results;
  sim::Counters counters;
  std::vector<std::string> output;
};

// A failed case, as the judge saw it.
struct Evidence {
  Failure failure;
  // Each rank's result (nothing after a crash, a deadlock, …), and behind those, what each rank
  // told the case's services.
  std::vector<Bytes> results;
};

class CaseRunner {
 public:
  // `player`: the program, and its arguments.
  CaseRunner(std::string exercise, std::vector<std::string> player, const JudgeOptions& options);

  // Plays the next case. nullopt when it is not asked for: --case chose another one, or the cases
  // are only counted. Throws Failure when the core or the host found something (deadlock, crash,
  // …).
  std::optional<Played> play(const CaseSetup& setup);
  // The same for a part that is a pure function: one rank, which talks to nobody.
  std::optional<Played> ask(const std::string& description, Bytes input,
                            std::vector<Situation> situations = {});

  // The memory that a rank of the case at hand holds at this moment (ProcessHost::memory_bytes):
  // for services, while they serve the rank.
  std::optional<std::int64_t> memory_bytes(int rank) {
    measured_.insert(rank);
    return host_ ? host_->memory_bytes(rank) : std::nullopt;
  }
  // The most that it held at any moment since the last time (ProcessHost::take_peak_bytes).
  std::optional<std::int64_t> take_peak_bytes(int rank) {
    measured_.insert(rank);
    return host_ ? host_->take_peak_bytes(rank) : std::nullopt;
  }
  // Plays a case that is none of the exam's: it has no number, and nobody reads its results. For a
  // check that has to know what an undisturbed run does before it disturbs it.
  //   Requires  plays_next()
  //   Throws    as play
  sim::Counters rehearse(const CaseSetup& setup);

  // True if play() will give the next case to the players. Work for one that is not played can be
  // spared.
  bool plays_next() const;
  // Counts the next case without playing it.
  void pass_over();

  // Judges one problem by `judge`, which plays exactly one case of it. When that fails, the
  // problems of `smaller` are tried on fresh players, bold ones first, and those of the first that
  // fails with the same verdict for the same reason (Failure::gist), and so on. What is thrown is
  // the last one's failure; its address (case_address.hpp) plays it again.
  //   Requires  `smaller` to be a function of the problem alone
  template <typename Problem>
  void examine(const Problem& problem, const std::function<void(const Problem&)>& judge,
               const std::function<std::vector<Problem>(const Problem&)>& smaller);

  // A place in the exam. The same place gives the same numbers again.
  struct Place {
    int next_case = 1;
    std::uint64_t drawn = 0;
  };
  Place place() const { return {next_case_, drawn_}; }
  // From `place` on, counts the cases of `run` without playing them.
  void count_from(const Place& place, const std::function<void(CaseRunner&)>& run);

  // True if a case that failed passes by itself: `judge`, which plays the one case at `start`,
  // passes on players that have played nothing before. Then the part keeps something. For a kill
  // matrix it is not tried once the values are wrong: nobody reads why more checks fail.
  bool passes_alone(const Place& start, const std::function<void()>& judge);

  // Plays only the case that the options choose, of the check `run`, which begins at `place`.
  // nullopt when it passes.
  std::optional<Evidence> evidence_of(const Place& place,
                                      const std::function<void(CaseRunner&)>& run);

  // The failure that `judge` ends in, if any. A result that was not read to its end is one, and so
  // is whatever is thrown once a case was played: what is read then comes from the player.
  //   Throws  what `judge` throws before it has played a case, and UsageError
  std::optional<Failure> failure_of(const std::function<void()>& judge);

  // How many cases were asked for, and how many of them were played (one at most with --case).
  int cases() const { return next_case_ - 1; }
  int played() const { return played_; }
  // The situations of the cases that were played since the last call.
  SituationCounts take_situations() { return std::exchange(situations_, {}); }
  // Tells, if the options ask for it, of the first case since the last call that measured the
  // memory of a rank, and gave it what repeats; or nothing.
  std::string take_repeated() { return std::exchange(repeated_, {}); }
  // The output of the ranks in the last case in which one printed, and which case that was.
  const Played& printed() const { return printed_; }
  // A digest of what the ranks were given in the cases that were played.
  std::uint64_t inputs() const { return inputs_; }

  // Numbers for inputs: the same seed gives the same cases of an exercise. They are hashed with the
  // seed as the key, so that a player cannot compute the seed, or other numbers, from those that it
  // was sent.
  std::uint64_t draw();
  // from, from+1, … or to.
  std::int64_t draw_between(std::int64_t from, std::int64_t to);
  std::uint64_t seed() const { return options_.seed; }

  // The judge's own sentence about a case it looked at. Every text is cut: it may quote the player.
  [[noreturn]] void fail(const Played& played, Failure failure) const;

  // Notes what a case that passed cost beside the best known solution. For each counter, the case
  // that is furthest from it is kept. Nothing is noted for a best of 0.
  void note_par(const std::string& counter, double seen, double best, const Played& played);
  const std::vector<ParCounter>& par() const { return par_; }
  const std::string& exercise() const { return exercise_; }

  // Adds to the picture of the last case what its exam knows and the core does not. Nothing is
  // drawn if nobody keeps it, or of a case that is played aside: the picture is of the one before.
  void redraw(const std::function<void(trace::Timeline&)>& draw) {
    if (auto* last = aside_ ? nullptr : kept_run_.last()) draw(*last);
  }

  // For the timeline that is kept: the last case failed; there are no more.
  void note(const Failure& failure);
  void end() { kept_run_.end(); }

 private:
  // The failure if the results of the last case could not even be read: the player sent something
  // of its own instead of what its adapter packs.
  Failure unreadable_result(const std::string& why) const;
  Played play_now(const CaseAddress& at, const CaseSetup& setup);
  // Says in repeated_ which rank that was measured was given what repeats.
  void weigh(const CaseAddress& at, const CaseSetup& setup, std::vector<Bytes> answers);
  // The results of the last case are done with.
  void require_results_read();
  sim::CaseResult run_players(sim::Core& core, const std::vector<Bytes>& inputs);
  // The way that --case asks for, when the next case is the one it chose.
  std::vector<int> way_asked_for() const;
  void go_to(const Place& place);
  // As failure_of, for a variant: its case has the number at `place`, and its players are fresh.
  std::optional<Failure> failure_of_variant(const Place& place, const std::vector<int>& way,
                                            const std::function<void()>& judge);

  std::string exercise_;
  std::vector<std::string> player_;
  JudgeOptions options_;
  std::unique_ptr<sim::ProcessHost> host_;
  int next_case_ = 1;
  int played_ = 0;
  SituationCounts situations_{};  // of cases that were played
  bool counting_ = false;         // cases are counted, none is played
  bool trying_ = false;           // play() plays a variant of a failing case, or rehearses one
  bool aside_ = false;            // play() plays what is no part of the report (passes_alone)
  bool is_wrong_ = false;         // a failure was noted that is more than waste
  std::vector<int> way_{};        // to the variant that it plays
  std::uint64_t drawn_ = 0;
  std::uint64_t inputs_ = 0;
  std::set<int> measured_{};  // ranks of the case at hand whose memory was read
  std::string repeated_;
  Played last_, printed_;             // without their results
  std::shared_ptr<Results> results_;  // of the last case, until they were read
  std::vector<Bytes> kept_results_;   // of the last case, for evidence
  bool reading_ = false;              // a case was played, and its check is not over
  KeptRun kept_run_;
  std::vector<ParCounter> par_;
};

// The subject of a check: what a part's ranks end with; or, of right values in the judge's own
// world, what that cost, and what the ranks do when one of them is lost.
enum class Asks : unsigned char { values, cost, faults };

// A part that is written in steps is judged in steps: what one step asks for, and which part of the
// points it earns. The percents of an exam's steps add up to 100.
struct Step {
  std::string name;  // "one worker", as a sentence goes on
  int percent = 0;
};

// One check of an exam. It is run when all that it builds on passed, or only cost too much.
struct Check {
  std::string name;                      // the sentence that is asserted
  std::function<void(CaseRunner&)> run;  // throws Failure
  // Places, in the exam, of the checks that must hold for this one to say something. Without: all
  // before it.
  std::optional<std::vector<std::size_t>> builds_on{};
  Asks asks = Asks::values;
  // The step that begins with this check; it ends where the next one begins.
  std::optional<Step> begins{};
};
using Exam = std::vector<Check>;

// An exam, and how many cases each of its checks plays at least. Two hands wrote them: a check that
// plays fewer, or that is gone, is the lab's own failure and never a pass.
struct DeclaredExam {
  std::function<Exam()> checks;
  std::vector<int> cases;
};

// The exams of a judge, by exercise: generated from the manifests (cmake/parts.cmake).
const std::map<std::string, DeclaredExam>& exams();

// Judges the part `exercise` as built into `player`.
//   Returns  with --case no points: one case is not the exam. Verdict infrastructure when the exam
//            played less than it declares
//   Throws   UsageError when there is no case of that number, Error when the lab itself failed
Report judge_exam(const std::string& exercise, const DeclaredExam& exam, const std::string& player,
                  const JudgeOptions& options);

}  // namespace lockstep::grader

#include "grader/judge/examine.hpp"
