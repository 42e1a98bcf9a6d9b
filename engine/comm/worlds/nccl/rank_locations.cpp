#include "engine/comm/worlds/nccl/rank_locations.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/comm/worlds/hosts/host.hpp"
#include "engine/comm/worlds/nccl/gathered.hpp"

namespace lockstep::comm {
namespace {

void check_each_has_a_gpu(const std::vector<RankLocation>& locations) {
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const auto shares = [&](const RankLocation& other) {
      return other.host == locations[rank].host && other.gpu == locations[rank].gpu;
    };
    const auto first = std::ranges::find_if(locations, shares) - locations.begin();
    if (std::cmp_equal(first, rank)) continue;
    throw CommError(text("ranks ", first, " and ", rank, " have the same GPU of one machine, and ",
                         "NCCL needs one for each; start at most as many ranks on a machine as it ",
                         "has GPUs, and let each open its own"));
  }
}

}  // namespace

std::vector<RankLocation> locations_of(ProcessGroup& words, std::uint64_t gpu, int first_rank) {
  CpuDevice host;
  const std::string name = this_host();
  const RankLocation mine{checksum_of(std::as_bytes(std::span(name))), gpu, getpid(), first_rank};
  auto locations = gathered(mine, words.size(), host, [&](const Tensor& one, const Tensor& all) {
    words.all_gather(one, all);
  });
  check_each_has_a_gpu(locations);
  return locations;
}

Watchdog::Processes processes_beside(int me, const std::vector<RankLocation>& locations) {
  const RankLocation& mine = locations[static_cast<std::size_t>(me)];
  Watchdog::Processes processes;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const RankLocation& location = locations[rank];
    if (location.host != mine.host || location.process == mine.process) continue;
    const auto file = static_cast<int>(syscall(SYS_pidfd_open, location.process, 0));
    if (file >= 0) processes.emplace(static_cast<int>(rank), Descriptor(file));
  }
  return processes;
}

}  // namespace lockstep::comm
