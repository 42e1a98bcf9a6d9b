// On a modelled device and network: blocks are on their way while others are computed with, and
// zigzag gives all ranks as much to compute.
#include <algorithm>
#include <cstddef>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/parallel/sequence/context_layers.hpp"
#include "engine/parallel/sequence/ring_backward.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;

namespace {

constexpr std::int64_t all_tokens = 256, one_head = 32;
constexpr int ring_ranks = 4;

struct Seconds {
  double forward = 0, backward = 0;
};

// Of the slowest rank.
Seconds seconds_of(ContextKind kind, double bandwidth_bytes_s) {
  sim::DeviceModel model;
  model.name = "slow";
  model.peak_flops_s[static_cast<std::size_t>(DType::float64)] = 1e6;
  model.flops_achieved = model.bandwidth_achieved = 1;
  model.memory_bandwidth_bytes_s = 1e9;
  model.memory_bytes = 1 << 24;
  sim::Options options;
  options.ranks = ring_ranks;
  options.network = {.latency_s = 0, .gap_s = 0, .bandwidth_bytes_s = bandwidth_bytes_s};
  sim::Core core(options);
  Seconds seconds;
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, model, DType::float64,
                                 comm::Elements::numbers);
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto of_ranks = positions_of_ranks(kind, all_tokens, ring_ranks);
    const std::int64_t own = of_ranks[static_cast<std::size_t>(self.rank)].count();
    const Tensor queries = test::drawn({1, own, one_head}, 1, device);
    const Tensor keys_values = test::drawn({1, own, 2 * one_head}, 2, device);
    group->barrier();
    const double began_s = group->now_s();
    const auto whole = ring_attention(*group, queries, keys_values, 1, of_ranks);
    const double forward_s = group->now_s();
    group->barrier();
    const double turned_s = group->now_s();
    ring_attention_backward(*group, queries, queries, keys_values, whole, 1, of_ranks);
    seconds.forward = std::max(seconds.forward, forward_s - began_s);
    seconds.backward = std::max(seconds.backward, group->now_s() - turned_s);
  });
  REQUIRE((result.finding ? result.finding->message : "") == "");
  return seconds;
}

}  // namespace

TEST_CASE("ring attention: transfers cost nothing while computing takes longer, else it does not") {
  // A block of keys and values has 32 KiB, and zigzag sees half of the pairs of two slices.
  const double block_bytes = all_tokens / ring_ranks * 2 * one_head * 8;
  const double step_s = 0.5 * 4 * 64 * 64 * one_head / 1e6;
  const Seconds alone = seconds_of(ContextKind::zigzag, 1e12);
  const Seconds hidden = seconds_of(ContextKind::zigzag, 1.2 * block_bytes / step_s);
  const Seconds exposed = seconds_of(ContextKind::zigzag, 0.1 * block_bytes / step_s);
  CAPTURE(step_s, alone.forward, hidden.forward, exposed.forward, alone.backward, hidden.backward,
          exposed.backward);
  CHECK(hidden.forward <= 1.01 * alone.forward);
  // The sums of gradients are as large as the blocks; the last of them is waited for.
  CHECK(hidden.backward <= 1.01 * alone.backward + step_s);
  CHECK(exposed.forward >= (ring_ranks - 1) * 10 * step_s);
}

TEST_CASE("ring attention: in zigzag the slowest rank computes the mean, with slices the most") {
  const Seconds slices = seconds_of(ContextKind::ring, 1e12);
  const Seconds zigzag = seconds_of(ContextKind::zigzag, 1e12);
  CAPTURE(slices.forward, zigzag.forward, slices.backward, zigzag.backward);
  // (2N-1)/N of the mean, N = 4.
  for (const double ratio : {slices.forward / zigzag.forward, slices.backward / zigzag.backward}) {
    CHECK(ratio > 1.65);
    CHECK(ratio < 1.80);
  }
}

TEST_CASE("messages: a receive tells how long its message ran, however late it is waited for") {
  sim::Options options;
  options.ranks = 2;
  options.network = {.latency_s = 0, .gap_s = 0, .bandwidth_bytes_s = 1e6};
  sim::Core core(options);
  double ran_s = 0, sent_s = 0;
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = comm::make_sim_group(self.port, self.rank, self.ranks);
    const Tensor data = zeros({1000}, DType::float64, device);
    comm::Work work = self.rank == 0 ? group->isend(data, 1) : group->irecv(data, 0);
    group->barrier();
    group->all_reduce(zeros({4000}, DType::float64, device), ReduceOp::sum);
    work.wait();
    (self.rank == 0 ? sent_s : ran_s) = work.ran_s().value_or(0);
  });
  REQUIRE((result.finding ? result.finding->message : "") == "");
  CHECK(std::abs(ran_s - 8000 / 1e6) <= 1e-9);
  CHECK(sent_s == 0);
}
