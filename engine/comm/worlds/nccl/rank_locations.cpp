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

void check_each_has_a_gpu(const std::vector<Home>& homes) {
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const auto shares = [&](const Home& other) {
      return other.host == homes[rank].host && other.gpu == homes[rank].gpu;
    };
    const auto first = std::ranges::find_if(homes, shares) - homes.begin();
    if (std::cmp_equal(first, rank)) continue;
    throw CommError(text("ranks ", first, " and ", rank, " have the same GPU of one machine, and ",
                         "NCCL needs one for each; start at most as many ranks on a machine as it ",
                         "has GPUs, and let each open its own"));
  }
}

}  // namespace

std::vector<Home> homes_of(ProcessGroup& words, std::uint64_t gpu, int first_rank) {
  CpuDevice host;
  const std::string name = this_host();
  const Home mine{checksum_of(std::as_bytes(std::span(name))), gpu, getpid(), first_rank};
  auto homes = gathered(mine, words.size(), host,
                        [&](const Tensor& one, const Tensor& all) { words.all_gather(one, all); });
  check_each_has_a_gpu(homes);
  return homes;
}

Watchdog::Processes processes_beside(int me, const std::vector<Home>& homes) {
  const Home& mine = homes[static_cast<std::size_t>(me)];
  Watchdog::Processes processes;
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const Home& home = homes[rank];
    if (home.host != mine.host || home.process == mine.process) continue;
    const auto file = static_cast<int>(syscall(SYS_pidfd_open, home.process, 0));
    if (file >= 0) processes.emplace(static_cast<int>(rank), Descriptor(file));
  }
  return processes;
}

}  // namespace lockstep::comm
