// Saves that do not end well: at any call of the storage, on a full disk, or without a peer. What
// exams of parts that save ask of them, whoever writes.
#pragma once

#include "grader/exam/saved_lives.hpp"

namespace lockstep::grader {

// True of the call from which on a checkpoint counts.
bool commits(const StorageEvent& event);

// The save of this step, in the last life of the case: it returned on every rank, and on none
// before the index was renamed.
void check_waited(CaseRunner& runner, const Played& played, const LivesProblem& p,
                  const SeenLives& seen, std::int64_t step);

// Life 1, which saves after 2 and after 4 steps, ends at calls of its second save, of which `most`
// are chosen. Life 2 loads.
void cut_off(CaseRunner& runner, const PaperRun& run, LivesProblem p, int most,
             std::optional<checkpoint::PowerCut> power);

// Life 1 saves after 2 steps; in life 2 the disk is full when it saves after 4; life 3 loads.
//   named  stands in every rank's error
void full_disk(CaseRunner& runner, const PaperRun& run, LivesProblem p, const LifeEnd& full,
               const std::string& named);

// A rank dies at requests of the last of these lives.
struct DyingRank {
  std::vector<std::string> lives;
  int rank = 0;
};
//   lost_input  the input of the part's adapter, where a peer is lost
void lose_peers(CaseRunner& runner, const PaperRun& run, LivesProblem p,
                const std::function<Bytes(const LifeCase&)>& lost_input,
                const std::vector<DyingRank>& dying, int cases);

}  // namespace lockstep::grader
