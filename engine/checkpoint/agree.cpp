#include "engine/checkpoint/agree.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::checkpoint {
namespace {

// The result of one rank's work as text that travels: '+' and what it says, or '-' and the error.
std::string attempt(const std::function<std::string()>& work) {
  try {
    return "+" + work();
  } catch (const CheckpointError& error) {
    return text("-", error.what());
  }
}

}  // namespace

std::vector<std::string> gather_texts(comm::ProcessGroup& group, const std::string& mine) {
  CpuDevice device;
  const Tensor length = full({1}, static_cast<double>(mine.size()), DType::int64, device);
  const Tensor lengths = empty({group.size()}, DType::int64, device);
  group.all_gather(length, lengths);
  const auto sizes = lengths.data<std::int64_t>();
  const Tensor letters = empty({std::ssize(mine)}, DType::uint8, device);
  std::ranges::copy(mine, letters.data<std::uint8_t>().begin());
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const Tensor all = empty({total}, DType::uint8, device);
  group.all_gather(letters, all, sizes);
  std::vector<std::string> by_rank;
  auto at = all.data<std::uint8_t>().begin();
  for (const std::int64_t size : sizes) {
    by_rank.emplace_back(at, at + size);
    at += size;
  }
  return by_rank;
}

std::vector<std::string> agree(comm::ProcessGroup& group,
                               const std::function<std::string()>& work) {
  std::vector<std::string> all = gather_texts(group, attempt(work));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() == '-') {
      throw CheckpointError(text(group.names().name(static_cast<int>(rank)),
                                 " could not save: ", all[rank].substr(1)));
    }
    all[rank].erase(0, 1);
  }
  return all;
}

void telling(const comm::ProcessGroup& group, const std::string& doing,
             const std::function<void()>& act) {
  try {
    act();
  } catch (const CommError& error) {
    throw CommError(text("checkpoint: ", group.own_name(), " was ", doing, ": ", error.what()));
  }
}

std::string line_of(const Draft& draft) { return text(draft.folder, " ", draft.again); }

Draft draft_of(const std::string& line) {
  const std::size_t space = line.find(' ');
  return {line.substr(0, space), std::stoi(line.substr(space + 1))};
}

}  // namespace lockstep::checkpoint
