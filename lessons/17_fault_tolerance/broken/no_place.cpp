// Wrong on purpose: the step is saved, and the epoch, but not the places of its order that are
// taken.
#include "lessons/17_fault_tolerance/broken/usual.hpp"

namespace lockstep::checkpoint {

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  if (group.rank() == writer) {
    TrainState saved = state;
    saved.taken = 0;
    write_and_commit(storage, contents, saved, options);
  }
  group.barrier();
}

}  // namespace lockstep::checkpoint
