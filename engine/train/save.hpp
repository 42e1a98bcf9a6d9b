// Saves what the trainers of a run hold: whole on the rank that reports, which writes alone, or
// where it is, each rank a share. Both are the same kind of checkpoint, and any number of ranks in
// any layout goes on from either.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/async_checkpoint.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/train/held.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

enum class SaveForm : std::uint8_t { dense, sharded };

// Boxes of one of a rank's pieces, which this rank writes.
struct Share {
  std::size_t place = 0;  // of the piece, in the rank's list
  Boxes boxes;
  bool operator==(const Share&) const = default;
};

// Deals the elements of all tensors to ranks that hold them, each element to one.
//   held     of all ranks, as gather_held gives it
//   Returns  of each rank what it writes, in the order of its list
//   Ensures  what several ranks hold is cut along its first axes into shares of 64 KiB at least,
//            and each goes to the holder that has least to write so far
//   Throws   Error when nobody holds a part of a tensor
std::vector<std::vector<Share>> plan_shares(const std::vector<Held>& held, int ranks);

// Saves the checkpoint of state.step. Called by all trainers.
//   optimizer  the optimizer's kind
//   storage    sharded: each rank's own way to one storage; dense: the reporter's is used
//   Ensures    it is committed when this returns, on whichever rank
//   Comm       dense: as gather_whole, and as save_from_one. sharded: two all-gathers of lists of
//              pieces, and as save_sharded; no element travels. Replicas must be equal, which takes
//              as much as compare
//   Throws     CheckpointError, on every rank, with the rank whose storage refused, and why; older
//              checkpoints are then as they were. Error, sharded, when replicas differ; NotFinite
void save(Strategy& strategy, SaveForm form, std::string_view optimizer,
          checkpoint::Storage& storage, const checkpoint::TrainState& state,
          const checkpoint::SaveOptions& options);

// Saves a run again and again: each save as above, or beside the steps that follow. Then a save
// copies what this rank writes, and returns; a strand of the rank writes the copy. One save is in
// flight at a time, so the next one waits for it.
//   Thread  one strand calls
class Saver {
 public:
  struct Options {
    SaveForm form = SaveForm::dense;
    std::string optimizer = {};  // its kind
    checkpoint::SaveOptions of_checkpoints = {};
    Strands* beside = nullptr;  // none: each save is committed when it returns
  };
  // Called by all trainers. What it is given must outlive it.
  //   Comm  beside the steps, sharded: a split of the trainers, since their own group is busy with
  //         the next step while shares are written
  Saver(Strategy& strategy, Options options, checkpoint::Storage& storage);

  // Called by all trainers.
  //   Comm    as save; what is written beside the steps is agreed upon there. Dense, as finish
  //   Throws  as save: of this save, or of the one before it, which was beside the steps; nothing
  //   is
  //           begun then
  void save(const checkpoint::TrainState& state);
  // Returns when no save is in flight. Called by all trainers before the run ends.
  //   Comm    when one is, dense: a barrier, which waits an hour for the rank that writes, and
  //           two all-gathers. Else none
  //   Throws  what the last save has thrown
  void finish();

  // The bytes of the last copy on this rank, by PieceKind.
  const std::array<std::int64_t, 3>& snapshot_bytes() const { return snapshot_bytes_; }

 private:
  Strategy& strategy_;
  Options options_;
  checkpoint::Storage& storage_;
  std::array<std::int64_t, 3> snapshot_bytes_{};
  std::optional<std::int64_t> in_flight_;       // the step that is saved, on every rank
  std::unique_ptr<comm::ProcessGroup> behind_;  // of the strands that write shares
  std::unique_ptr<checkpoint::AsyncCheckpoint> background_;  // last: ends before what it uses
};

}  // namespace lockstep::train
