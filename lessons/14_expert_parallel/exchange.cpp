// The forward pass of a layer of 64 experts on 256 simulated GPUs, without numbers: width 4,096,
// two experts for a token, 1,024 tokens on each GPU, bfloat16.
//   build/release/bin/exchange CLUSTER [HOT]   h100 or ethernet; the fullest expert has HOT times
//                                              its share
// Four neighbours share an expert (tp 4), and 64 such groups have one expert each (ep 64). As in
// Megatron, a GPU dispatches its own tokens among the 64 GPUs with its place on tp; the four then
// gather what came, compute with a quarter of the expert each, and sum what they return.
#include <algorithm>
#include <array>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/parallel/mesh/axis_groups.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/model/cluster.hpp"
#include "engine/tensor/ops.hpp"

using namespace lockstep;

namespace {

constexpr int tp = 4, ep = 64;
constexpr std::int64_t tokens = 1024, chosen = 2, width = 4096, hidden = 4 * width;
constexpr std::int64_t choices = tokens * chosen;  // of a GPU

// How many of a GPU's choices are each expert's.
std::vector<std::int64_t> choices_of_experts(std::int64_t hot) {
  const std::int64_t fullest = hot * choices / ep, others = choices - fullest;
  std::vector<std::int64_t> counts{fullest};
  for (int expert = 1; expert < ep; ++expert) {
    counts.push_back(others * expert / (ep - 1) - others * (expert - 1) / (ep - 1));
  }
  return counts;
}

struct Seen {
  double experts_s = 0, combine_s = 0;
};

Seen run_layer(comm::ProcessGroup& world, Device& device, std::int64_t hot) {
  const mesh::AxisSizes sizes{.tp = tp, .ep = ep};
  const auto layer = mesh::split_along(world, sizes, {mesh::Axis::tp});
  const auto exchange = mesh::split_along(world, sizes, {mesh::Axis::ep});
  const auto rows = [&](std::int64_t count, std::int64_t columns) {
    return empty({count, columns}, DType::bfloat16, device, MemoryKind::activations);
  };
  std::vector<std::int64_t> to = choices_of_experts(hot);
  const std::int64_t of_mine = to[static_cast<std::size_t>(exchange->rank())];
  for (std::int64_t& count : to) count *= width;
  const std::vector<std::int64_t> from(ep, of_mine * width);
  const std::int64_t came = ep * of_mine;
  const Tensor own = rows(choices, width), here = rows(came, width);
  const Tensor all = rows(tp * came, width), up = rows(hidden / tp, width),
               down = rows(width, hidden / tp);
  const auto timed = [&](const std::function<void()>& body) {
    world.barrier();
    const double begin = world.now_s();
    body();
    return world.now_s() - begin;
  };
  Seen seen;
  exchange->all_to_all(own, here, to, from);
  seen.experts_s = timed([&] {
    layer->all_gather(here.view({came * width}), all.view({tp * came * width}));
    const Tensor inside = ops::matmul(all, ops::Transpose::no, up, ops::Transpose::yes);
    const Tensor out = ops::matmul(inside, ops::Transpose::no, down, ops::Transpose::yes);
    layer->reduce_scatter(out.view({tp * came * width}), here.view({came * width}), ReduceOp::sum);
  });
  seen.combine_s = timed([&] { exchange->all_to_all(here, own, from, to); });
  return seen;
}

// The GPUs of a node exchange rows at the same time, each in a group of its own, and the simulator
// prices one collective at a time. So each GPU is given its share of the node's cards.
sim::Cluster cluster_with_shares(const std::string& name) {
  sim::Cluster cluster = sim::cluster_of(name);
  sim::Network& network = cluster.network;
  if (network.cards_per_node == 0) return cluster;  // one for each GPU
  network.between.bandwidth_bytes_s *=
      static_cast<double>(network.cards_per_node) / network.ranks_per_node;
  network.cards_per_node = network.ranks_per_node;
  return cluster;
}

void run(const std::string& name, std::int64_t hot) {
  if (hot < 1 || hot > ep) throw UsageError("HOT is 1 to 64");
  const sim::Cluster cluster = cluster_with_shares(name);
  sim::Options options;
  options.ranks = tp * ep;
  options.network = cluster.network;
  options.limits.bytes_max = std::int64_t{1} << 50;
  sim::Core core(options);
  std::vector<Seen> seen(static_cast<std::size_t>(options.ranks));
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, cluster.device, DType::bfloat16,
                                 comm::Elements::none);
    const auto world = comm::make_sim_group(self.port, self.rank, self.ranks);
    seen[static_cast<std::size_t>(self.rank)] = run_layer(*world, device, hot);
  });
  for (const std::string& failure : result.failures) {
    if (!failure.empty()) throw Error(failure);
  }
  if (result.finding) throw Error(result.finding->message);
  const auto slowest = [&](double Seen::*part) {
    return 1e3 * std::ranges::max(seen, {}, part).*part;
  };
  // The simulator prices an all-to-all by what its busiest rank sends. In dispatch, the busiest one
  // receives as much instead, so dispatch takes as long as combine.
  const double exchanges = 2 * slowest(&Seen::combine_s);
  const double experts = slowest(&Seen::experts_s);
  std::cout << std::left << std::setw(9) << name << "hot " << hot << std::right << std::fixed
            << std::setprecision(2) << std::setw(9) << exchanges << " ms of all-to-alls"
            << std::setw(8) << experts << " ms in experts" << std::setprecision(0) << std::setw(5)
            << 100 * exchanges / (exchanges + experts) << " % of the layer is all-to-all\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 2 || count > 3) throw UsageError("usage: exchange CLUSTER [HOT]");
    run(words[1], count == 3 ? std::stoll(words[2]) : 1);
  } catch (const std::exception& error) {
    std::cerr << "exchange: " << error.what() << "\n";
    return 2;
  }
}
