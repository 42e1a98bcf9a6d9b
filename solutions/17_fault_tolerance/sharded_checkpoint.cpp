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
  const bool commits = group.rank() == committer;
  const auto by_committer = [&](const std::function<std::string()>& work) {
    const auto told = agree(group, [&] { return commits ? work() : std::string(); });
    return told[static_cast<std::size_t>(committer)];
  };
  const Draft draft = draft_of(by_committer(
      [&] { return line_of(begin_save(storage, state.step, options, group.size())); }));
  try {
    const auto shares = agree(group, [&] {
      return write_share(storage, draft, {group.rank(), group.size()}, share, options.model);
    });
    by_committer([&] {
      commit_save(storage, draft, shares, state, options);
      return std::string();
    });
  } catch (const CheckpointError&) {
    if (commits) abandon_save(storage, draft);
    throw;
  }
  // <<< your code
}

void read_boxes(const std::vector<Box>& saved, const Boxes& wanted, std::size_t element_bytes,
                const ReadStretch& read, std::span<std::byte> into) {
  // >>> your code
  ShardPlan sources;
  for (const Box& box : saved) sources.push_back({box});
  // Source, offset and length of a stretch, and the byte at which it belongs: sorted as it is read.
  std::vector<std::tuple<int, std::int64_t, std::int64_t, std::size_t>> all;
  std::size_t to = 0;
  for (const Stretch& one : reshard(sources, {wanted}, 0)) {
    all.emplace_back(one.source, one.offset, one.length, to);
    to += static_cast<std::size_t>(one.length) * element_bytes;
  }
  std::ranges::sort(all);
  for (const auto& [source, offset, length, place] : all) {
    const std::size_t bytes = static_cast<std::size_t>(length) * element_bytes;
    read({source, offset, length}, into.subspan(place, bytes));
  }
  // <<< your code
}

}  // namespace lockstep::checkpoint
