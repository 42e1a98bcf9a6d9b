// Saves that do not end well: at any call of the storage, on a full disk, or without a peer. Every
// exam of a part that saves asks about them, with one writer or with many.
#pragma once

#include "grader/exam/lives/saved.hpp"

namespace lockstep::grader {

// The same step is saved again, and of an older checkpoint nothing is left.
void saves_again(CaseRunner& runner, const PaperRun& run, LivesProblem p);

// True of the call from which on a checkpoint counts.
bool commits(const StorageEvent& event);

// A save by each number of ranks, which returns when it is committed. `run_of` draws the run that
// so many ranks save.
void save_on_every_size(CaseRunner& runner, LivesProblem p,
                        const std::function<PaperRun(CaseRunner&, int ranks)>& run_of,
                        const LookAtLives& before, const LookAtLives& after);

// The save of this step in a life: it returned on every rank, and on none before the index was
// renamed.
void check_waited(CaseRunner& runner, const Played& played, const LivesProblem& p,
                  const SeenLives& seen, std::size_t life, std::int64_t step);

// Life 1, which saves after 1 and after 2 steps, ends at calls of its second save, as many as
// `ends` has: by a kill, or by a power failure of this kind. Life 2 loads.
using PowerAtEnd = std::optional<checkpoint::PowerCut>;
void cut_off(CaseRunner& runner, const PaperRun& run, LivesProblem p,
             const std::vector<PowerAtEnd>& ends);

// Life 1 saves after 1 step; in life 2 the disk is full when it saves after 2; life 3 loads.
//   named  stands in every rank's error
//   wrong  finds what else is wrong with how the save ended on each rank
using EndingsRule = std::function<std::optional<Failure>(const std::vector<SaveReport>& of_ranks)>;
void full_disk(CaseRunner& runner, const PaperRun& run, LivesProblem p, const LifeEnd& full,
               const std::string& named, const EndingsRule& wrong = {});

// Between the save of life 1 and the load of life 2, the index loses its second half: every rank
// throws.
void damaged_index(CaseRunner& runner, const PaperRun& run, const LivesProblem& p);

// A rank dies at requests of the last of these lives. What is committed stays then, as far as the
// adapter keeps something when its part throws (play_with_a_lost_peer).
struct DyingRank {
  std::vector<std::string> lives;
  int rank = 0;
};
void lose_peers(CaseRunner& runner, const PaperRun& run, const LivesProblem& p,
                const std::vector<DyingRank>& dying, int cases);

}  // namespace lockstep::grader
