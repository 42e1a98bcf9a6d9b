// The beginning of a run: a checkpoint of its folder, or the first step. Rank 0 chooses, and all
// ranks open what it has chosen: none goes by its own view of the folder, which may be another
// folder of the same name.
//
//                        nothing typed        --resume             --resume auto
//   first attempt        the first step, or   the newest, which    the newest that is whole, or the
//                        a refusal: the       must be there and    first step where there is none
//                        folder is taken      whole
//   after a restart      as auto, of what     as auto              the same
//                        this run has saved
//
// Nothing is removed here. A damaged checkpoint stays where it is, and is told.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"

namespace lockstep::checkpoint {

enum class Resume : std::uint8_t { not_typed, latest, automatic };

struct Wish {
  std::filesystem::path folder = {};  // of checkpoints; empty: there are none
  Resume resume = Resume::not_typed;
  int attempt = 0;       // how often a launcher has restarted the run
  std::string run = {};  // by which the launcher knows it; empty: by nothing
};

struct Beginning {
  std::optional<std::string> from = std::nullopt;  // the checkpoint's name; none: the first step
  std::vector<std::string> damaged = {};           // names of newer ones, which are passed over
  std::string told = {};     // lines for a person; none where nothing else could be expected
  std::string run = {};      // Wish::run
  bool may_be_over = false;  // a run whose steps are all taken is a success
};

// True if the newest whole checkpoint is looked for.
bool looks_for_whole(const Wish& wish);

// Refuses what can be refused before any rank is started.
//   Throws  UsageError with what to type instead, CheckpointError when the folder cannot be read
void check_beginning(const Wish& wish);

// The same choice on every rank. Looking for a whole checkpoint, the ranks read all of it, each a
// share, and compare its checksums.
//   wish     may differ: that of rank 0 counts
//   Comm     two texts of each rank (agree.hpp) for each checkpoint that is looked at, and a
//   barrier
//            that waits an hour for those that read
//   Throws   on every rank, as check_beginning, and UsageError when a rank does not see what rank 0
//            has chosen, or sees a checkpoint where rank 0 sees none
Beginning agree_on_beginning(comm::ProcessGroup& group, const Wish& wish);

// Reads all of a checkpoint.
//   Returns  where it is damaged, what to do: which older one is whole, and what to type. "" where
//            it is whole
std::string told_if_damaged(const std::filesystem::path& checkpoint);

}  // namespace lockstep::checkpoint
