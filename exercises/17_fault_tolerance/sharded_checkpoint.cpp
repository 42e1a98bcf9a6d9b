// Task: a checkpoint that all ranks write, a share each, and that any number of ranks reads. Save
// in three steps, which all ranks take together: begin, write, commit. And read the elements that a
// rank wants out of the boxes that others saved. The contract is in
// engine/checkpoint/sharded_checkpoint.hpp. With agree (engine/checkpoint/agree.hpp) ranks tell
// each other what came of a step; reshard (engine/checkpoint/reshard_plan.hpp) says what to read
// where.
#include "engine/checkpoint/sharded_checkpoint.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"

namespace lockstep::checkpoint {

void save_sharded(comm::ProcessGroup& group, int committer, Storage& storage, const Contents& share,
                  const TrainState& state, const SaveOptions& options) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)committer, (void)storage, (void)share, (void)state, (void)options;
  throw NotImplemented("sharded_checkpoint");
  // <<< your code
}

void read_boxes(const std::vector<Box>& saved, const Boxes& wanted, std::size_t element_bytes,
                const ReadStretch& read, std::span<std::byte> into) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)saved, (void)wanted, (void)element_bytes, (void)read, (void)into;
  throw NotImplemented("sharded_checkpoint");
  // <<< your code
}

}  // namespace lockstep::checkpoint
