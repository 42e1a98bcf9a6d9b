// Every rank broadcasts how each step ended for it, rank after rank. The last box is read first,
// each element by itself.
#include <algorithm>
#include <map>

#include "engine/base/error.hpp"
#include "engine/checkpoint/sharded_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

void broadcast_text(comm::ProcessGroup& group, std::string& letters, int root) {
  CpuDevice device;
  const Tensor length = full({1}, static_cast<double>(letters.size()), DType::int64, device);
  group.broadcast(length, root);
  letters.resize(static_cast<std::size_t>(length.data<std::int64_t>()[0]));
  if (letters.empty()) return;
  const Tensor sent = full({std::ssize(letters)}, 0, DType::uint8, device);
  std::ranges::copy(letters, sent.data<std::uint8_t>().begin());
  group.broadcast(sent, root);
  std::ranges::copy(sent.data<std::uint8_t>(), letters.begin());
}

// Each rank tells, rank after rank; a text that begins with '!' is an error, and every rank throws
// the first of them.
std::vector<std::string> round(comm::ProcessGroup& group,
                               const std::function<std::string()>& work) {
  std::string mine = "=";
  try {
    mine += work();
  } catch (const CheckpointError& error) {
    mine = text("!rank ", group.rank(), " failed: ", error.what());
  }
  std::vector<std::string> all;
  for (int rank = 0; rank < group.size(); ++rank) {
    std::string one = rank == group.rank() ? mine : std::string();
    broadcast_text(group, one, rank);
    all.push_back(one);
  }
  for (std::string& one : all) {
    if (one.front() == '!') throw CheckpointError(one.substr(1));
    one.erase(0, 1);
  }
  return all;
}

}  // namespace

void save_sharded(comm::ProcessGroup& group, int committer, Storage& storage, const Contents& share,
                  const TrainState& state, const SaveOptions& options) {
  const bool commits = group.rank() == committer;
  Draft draft{folder_name(state.step)};
  try {
    const auto drafts = round(group, [&] {
      if (commits) draft = begin_save(storage, state.step);
      return text(draft.again);
    });
    draft.again = std::stoi(drafts[static_cast<std::size_t>(committer)]);
    const auto shares = round(group, [&] {
      return write_share(storage, draft, {group.rank(), group.size()}, share, options.model);
    });
    round(group, [&] {
      if (commits) commit_save(storage, draft, shares, state, options);
      return std::string();
    });
  } catch (const CheckpointError&) {
    if (commits) abandon_save(storage, draft);
    throw;
  }
}

void read_boxes(const std::vector<Box>& saved, const Boxes& wanted, std::size_t element_bytes,
                const ReadStretch& read, std::span<std::byte> into) {
  // The places of single elements in `into`, by their address.
  std::map<std::vector<std::int64_t>, std::size_t> places;
  std::size_t count = 0;
  const auto for_elements = [](const Box& box, const auto& visit) {
    const Shape shape = shape_of(box);
    for (std::int64_t i = 0; i < numel_of(box); ++i) {
      std::vector<std::int64_t> address(shape.size());
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
        address[axis] = box.begin[axis] + rest % shape[axis];
      }
      visit(address, i);
    }
  };
  for (const Box& box : wanted) {
    for_elements(box, [&](const auto& address, std::int64_t) { places[address] = count++; });
  }
  std::size_t found = 0;
  for (const Box& box : saved) {
    for_elements(box, [&](const auto& address, std::int64_t) { found += places.count(address); });
  }
  if (found != count) throw CheckpointError("some elements were not saved");
  for (std::size_t source = saved.size(); source-- > 0;) {
    for_elements(saved[source], [&](const auto& address, std::int64_t at) {
      const auto place = places.find(address);
      if (place == places.end()) return;
      read({static_cast<int>(source), at, 1},
           into.subspan(place->second * element_bytes, element_bytes));
    });
  }
}

}  // namespace lockstep::checkpoint
