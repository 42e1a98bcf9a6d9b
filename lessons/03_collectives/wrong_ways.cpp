// First tries that lessons 03 and 06 read, run and mend, each beside its mended form, on the
// simulator.
//   build/release/bin/wrong-ways NAME RANKS
//     send_first, take_turns, one_buffer, exchange   everybody passes 25,000 float32 to the right
//     own_first, rank_order                          everybody sums 1,000 float32 of all ranks
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/base/units.hpp"
#include "engine/collectives/all_gather.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"

namespace {

using namespace lockstep;
using comm::Peers;

// A shift round the ring, four ways.

void send_first(Peers& peers, const Tensor& mine, const Tensor& from_left) {
  const int n = peers.size(), right = (peers.rank() + 1) % n, left = (peers.rank() + n - 1) % n;
  peers.send(mine, right);
  peers.recv(from_left, left);
}

void take_turns(Peers& peers, const Tensor& mine, const Tensor& from_left) {
  const int n = peers.size(), right = (peers.rank() + 1) % n, left = (peers.rank() + n - 1) % n;
  const bool even = peers.rank() % 2 == 0;
  if (even) peers.send(mine, right);
  peers.recv(from_left, left);
  if (!even) peers.send(mine, right);
}

void one_buffer(Peers& peers, const Tensor& mine, const Tensor& /*from_left*/) {
  const int n = peers.size(), right = (peers.rank() + 1) % n, left = (peers.rank() + n - 1) % n;
  comm::Work sending = peers.isend(mine, right);
  peers.recv(mine, left);
  sending.wait();
}

using Shift = void (*)(Peers&, const Tensor& mine, const Tensor& from_left);
const std::map<std::string, Shift> shifts{
    {"send_first", send_first},
    {"take_turns", take_turns},
    {"one_buffer", one_buffer},
    {"exchange", [](Peers& peers, const Tensor& mine, const Tensor& from_left) {
       collectives::exchange(peers, mine, from_left);
     }}};

// A naive all-reduce, once every rank has the buffers of all: `all` holds them in rank order.

void own_first(int rank, const Tensor& all, const Tensor& data) {
  const std::int64_t count = data.numel();
  for (int other = 0; other < all.numel() / count; ++other) {
    if (other != rank) data.reduce_(all.narrow(other * count, count), ReduceOp::sum);
  }
}

void rank_order(int /*rank*/, const Tensor& all, const Tensor& data) {
  const std::int64_t count = data.numel();
  data.copy_(all.narrow(0, count));
  for (int other = 1; other < all.numel() / count; ++other) {
    data.reduce_(all.narrow(other * count, count), ReduceOp::sum);
  }
}

using Summation = void (*)(int rank, const Tensor& all, const Tensor& data);
const std::map<std::string, Summation> summations{{"own_first", own_first},
                                                  {"rank_order", rank_order}};

// Counters of a run, after it has said what the simulator found wrong with it.
std::optional<sim::Counters> played(
    int ranks, const std::function<void(comm::ProcessGroup&, Device&)>& program) {
  sim::Options options;
  options.ranks = ranks;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    program(*comm::make_sim_group(self.port, self.rank, self.ranks), device);
  });
  if (result.finding) {
    std::cout << result.finding->message << "\n";
    return std::nullopt;
  }
  return core.counters();
}

void show_shift(Shift shift, int ranks) {
  const auto counters = played(ranks, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor mine = full({25'000}, group.rank(), DType::float32, device);
    shift(group, mine, zeros({25'000}, DType::float32, device));
  });
  if (!counters) return;
  std::cout << seconds_text(counters->makespan_s) << ", the longest chain has " << counters->depth
            << (counters->depth == 1 ? " message\n" : " messages\n");
}

// Numbers between -1 and 1, as gradients may be.
Tensor gradient_of(int rank, Device& device) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 2 * random_uniform(static_cast<std::uint64_t>(rank), i) - 1;
  }
  return from_values(values, {1000}, DType::float32, device);
}

void show_summation(Summation sum, int ranks) {
  std::vector<std::vector<float>> sums(static_cast<std::size_t>(ranks));
  const auto counters = played(ranks, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor data = gradient_of(group.rank(), device);
    const Tensor all = data.empty_like(ranks * data.numel());
    collectives::all_gather(group, data, all);
    sum(group.rank(), all, data);
    const auto values = data.data<float>();
    sums[static_cast<std::size_t>(group.rank())].assign(values.begin(), values.end());
  });
  if (!counters) return;
  for (std::size_t rank = 1; rank < sums.size(); ++rank) {
    int differ = 0;
    for (std::size_t i = 0; i < sums[0].size(); ++i) {
      differ += std::memcmp(&sums[0][i], &sums[rank][i], sizeof(float)) != 0 ? 1 : 0;
    }
    std::cout << "rank " << rank << ": " << differ << " of " << sums[0].size()
              << " sums differ from those of rank 0\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string name = words.size() == 2 ? words[0] : "";
  if (const auto found = shifts.find(name); found != shifts.end()) {
    show_shift(found->second, std::stoi(words[1]));
    return 0;
  }
  if (const auto found = summations.find(name); found != summations.end()) {
    show_summation(found->second, std::stoi(words[1]));
    return 0;
  }
  std::cerr << "wrong-ways NAME RANKS; names are";
  for (const auto& [known, run] : shifts) std::cerr << " " << known;
  for (const auto& [known, run] : summations) std::cerr << " " << known;
  std::cerr << "\n";
  return 2;
}
