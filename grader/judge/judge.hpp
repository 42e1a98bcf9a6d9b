// The judge: draws cases, gives each rank only its own inputs, is the network, and decides. It
// never runs student code: that happens in the player processes it starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/sim/hosts/process_host.hpp"
#include "engine/trace/timeline.hpp"
#include "grader/judge/case_address.hpp"
#include "grader/judge/par.hpp"
#include "grader/judge/situation.hpp"
#include "grader/judge/verdict.hpp"

namespace lockstep::grader {

// One check of one exercise: what was asserted, and what came of it.
struct CheckReport {
  std::string name;  // "values: every rank ends with the sum"
  Verdict verdict = Verdict::pass;
  std::string cause;                  // short and stable; of a failure
  std::string message;                // the sentence; of a skipped check, why it was not run
  std::string expected, seen, where;  // where: "4 ranks, 7 elements, rank 2, element 5"
  std::map<std::string, double> counters;
  std::string replay;    // "./lab check ring_all_reduce --seed 7 --case 3"
  std::string origin;    // the case that was made smaller: "case 17: 7 ranks, 31 elements, sum"
  bool skipped = false;  // what it builds on failed, or --case chose none of this one's cases
  int cases = 0;         // played, those in which a failing case was made smaller not counted
  double seconds = 0;    // wall time
  SituationCounts situations{};            // of those cases
  std::vector<std::uint64_t> thrown_at{};  // the calls that led to the exception, if one failed it
};

struct Report {
  std::string exercise;
  Verdict verdict = Verdict::infrastructure;
  int points = 0, max_points = 0;
  std::string cause;    // short and stable: "summed_not_averaged", "cycle", "tail_lost", …
  std::string message;  // the first failing check's sentence
  std::string
      next_step;       // of a part that is judged in steps, and not whole yet: which step is next
  int steps_held = 0;  // before that one
  std::vector<CheckReport> checks;
  std::optional<CaseAddress> only_case;  // the one case that was played, where --case chose it
  std::string aside;                     // why there are no points to be had in this way of judging
  std::map<int, std::string> output;     // what ranks printed in the failing case, capped; when
                                         // all is well, in the last case in which any did
  std::optional<std::uint64_t> seed;     // that drew the cases; nothing was drawn without
  std::uint64_t inputs = 0;              // a digest of all that ranks were given
  std::vector<ParCounter> par;           // of a pass of the whole exam, where costs are known
};

// How many of a report's checks were run, and what came of them.
struct Tally {
  int checks = 0, passed = 0, failed = 0, skipped = 0, cases = 0;
};
Tally tally_of(const Report& report);

// graded: what builds on a failed check is skipped, and a failing case is made smaller. brief: as
// graded, but a failing case stays as it was drawn. whole: every check is run. kills: every check
// of values is run, until a case runs out of time, so that the kill matrix shows what each sees; of
// costs, those that a graded battery runs, too. What a wrong answer costs proves nothing of a
// check. Verdict and points are the same in all of them.
enum class Battery : unsigned char { graded, whole, brief, kills };

// The world in which the ranks communicate. `judges` is the judge's world, which measures.
// `processes` are real processes, which only confirm values: the judge sees nothing of the wire, so
// there are no points.
enum class PlayerWorld : unsigned char { judges, processes };

struct JudgeOptions {
  std::uint64_t seed = 1;
  Battery battery = Battery::graded;
  std::optional<CaseAddress> only_case;     // --case K
  std::string replay_with;                  // what a replay line needs besides, "--from solutions"
  PlayerWorld world = PlayerWorld::judges;  // as the player was linked
  std::optional<sim::DebuggedPlayer> debugged;
  sim::PlayerLimits limits;
  int max_points = 10;
  bool weighs = false;     // cases that measure memory must give ranks what does not repeat
  std::string mistakes{};  // the program of known mistakes; empty: none are known
  trace::Timeline* timeline = nullptr;  // gets the last case that failed, or else the largest
  std::string
      timeline_file;  // where a judge that is called (judge_call.hpp) writes it; empty: nowhere
};

}  // namespace lockstep::grader
