// Wrong on purpose: all of the save stands under one condition, and so does its collective, which
// the other ranks never enter.
#include "lessons/17_fault_tolerance/broken/usual.hpp"

namespace lockstep::checkpoint {

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  if (group.rank() != writer) return;
  write_and_commit(storage, contents, state, options);
  group.barrier();
}

}  // namespace lockstep::checkpoint
