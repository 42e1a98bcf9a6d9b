// Texts travel as letters in rooms of one size, flags by an all-reduce, and a barrier ends the
// save. Boxes are intersected one by one, without a plan.
#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "engine/checkpoint/sharded_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

// The texts of all ranks, in rooms as large as the longest.
std::vector<std::string> told_by_all(comm::ProcessGroup& group, const std::string& mine) {
  CpuDevice device;
  const Tensor longest = full({1}, static_cast<double>(mine.size()), DType::int64, device);
  group.all_reduce(longest, ReduceOp::max);
  const std::int64_t room = longest.data<std::int64_t>()[0] + 1;
  const Tensor letters = full({room}, 0, DType::uint8, device);
  const Tensor all = full({room * group.size()}, 0, DType::uint8, device);
  std::ranges::copy(mine, letters.data<std::uint8_t>().begin());
  group.all_gather(letters, all);
  std::vector<std::string> texts;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto begin = all.data<std::uint8_t>().begin() + rank * room;
    texts.emplace_back(begin, std::find(begin, begin + room, std::uint8_t{0}));
  }
  return texts;
}

// Works, and throws on every rank what one has thrown.
std::vector<std::string> together(comm::ProcessGroup& group,
                                  const std::function<std::string()>& work) {
  std::string mine, error;
  try {
    mine = work();
  } catch (const CheckpointError& caught) {
    error = caught.what();
  }
  const auto errors = told_by_all(group, error);
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::string& one = errors[static_cast<std::size_t>(rank)];
    if (!one.empty()) throw CheckpointError(text("rank ", rank, ": ", one));
  }
  return told_by_all(group, mine);
}

}  // namespace

void save_sharded(comm::ProcessGroup& group, int committer, Storage& storage, const Contents& share,
                  const TrainState& state, const SaveOptions& options) {
  const bool mine = group.rank() == committer;
  Draft draft{folder_name(state.step)};
  const auto told = together(group, [&] {
    if (mine) draft = begin_save(storage, state.step);
    return text(draft.again);
  });
  draft.again = std::stoi(told[static_cast<std::size_t>(committer)]);
  try {
    const auto shares = together(group, [&] {
      return write_share(storage, draft, {group.rank(), group.size()}, share, options.model);
    });
    together(group, [&] {
      if (mine) commit_save(storage, draft, shares, state, options);
      return std::string();
    });
  } catch (const CheckpointError&) {
    if (mine) abandon_save(storage, draft);
    throw;
  }
  group.barrier();
}

void read_boxes(const std::vector<Box>& saved, const Boxes& wanted, std::size_t element_bytes,
                const ReadStretch& read, std::span<std::byte> into) {
  struct Row {
    std::int64_t from, to, length;
  };
  std::map<std::size_t, std::vector<Row>> rows;  // by source
  std::int64_t first = 0, found = 0;             // first: of the wanted box, in `into`
  for (const Box& box : wanted) {
    for (std::size_t source = 0; source < saved.size(); ++source) {
      const auto part = intersection(saved[source], box);
      if (!part) continue;
      const auto from = rows_of(*part, saved[source]), to = rows_of(*part, box);
      const std::int64_t length = numel_of(*part) / std::ssize(from);
      found += numel_of(*part);
      for (std::size_t i = 0; i < from.size(); ++i) {
        rows[source].push_back({from[i], first + to[i], length});
      }
    }
    first += numel_of(box);
  }
  if (found != first)
    throw CheckpointError(text("of ", first, " elements, ", found, " were saved"));
  for (auto& [source, of_source] : rows) {
    std::ranges::sort(of_source, {}, &Row::from);
    for (const Row& row : of_source) {
      read({static_cast<int>(source), row.from, row.length},
           into.subspan(static_cast<std::size_t>(row.to) * element_bytes,
                        static_cast<std::size_t>(row.length) * element_bytes));
    }
  }
}

}  // namespace lockstep::checkpoint
