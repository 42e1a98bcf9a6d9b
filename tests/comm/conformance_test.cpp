// One suite over every backend that is here, and the same bits where the order of summation is part
// of the contract.
#include "tests/comm/conformance.hpp"

#include <algorithm>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "engine/sim/hosts/process_host.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/sim/thread_host.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::test;

namespace {

sim::Options world_of(int ranks) {
  sim::Options options;
  options.ranks = ranks;
  options.limits.messages_max = options.limits.requests_max = std::int64_t{1} << 40;
  options.limits.bytes_max = std::int64_t{1} << 50;
  return options;
}

std::uint64_t bits_on_process_host(int ranks) {
  sim::PlayerLimits limits;
  limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;
  // Under a thread sanitizer, eight ranks take minutes for a case.
  limits.cpu_s = limits.idle_s = limits.case_s = 1200;
  limits.frame_bytes_max = std::int64_t{64} << 20;
  sim::ProcessHost host({LOCKSTEP_CONFORMANCE_PLAYER}, ranks, limits);
  sim::Core core(world_of(ranks));
  const auto counts = usual_counts(ranks);
  const Bytes input = ByteWriter().put_list(std::span<const std::int64_t>(counts)).take();
  const auto result = host.run(core, std::vector<Bytes>(static_cast<std::size_t>(ranks), input));
  if (result.finding) FAIL(result.finding->message);
  std::vector<std::uint64_t> bits;
  for (const Bytes& bytes : result.results) bits.push_back(ByteReader(bytes).get<std::uint64_t>());
  for (const std::uint64_t of_rank : bits) CHECK(of_rank == bits.front());
  return bits.front();
}

std::string run_suite(ProcessGroup& group) {
  CpuDevice device;
  check_collectives(group, device, all_dtypes, usual_counts(group.size()));
  check_messages_and_splits(group, device);
  check_large(group, device);
  return std::to_string(bits_of_sums(group, device));
}

// All collectives in two groups at once, which do not keep in step.
std::string run_suite_in_halves(ProcessGroup& group) {
  const auto half = group.split(group.rank() % 2, 0);
  CpuDevice device;
  check_collectives(*half, device, all_dtypes, usual_counts(half->size()));
  return run_suite(group);
}

// The bits that all ranks of the simulator hold.
std::string bits_on_core(int ranks) {
  sim::Core core(world_of(ranks));
  ThreadHost host(core);
  std::vector<std::string> bits(static_cast<std::size_t>(ranks));
  host.run([&](sim::Port& port, int rank) {
    const auto group = make_sim_group(port, rank, ranks);
    CpuDevice device;
    bits[static_cast<std::size_t>(rank)] = std::to_string(bits_of_sums(*group, device));
  });
  for (const std::string& of_rank : bits) CHECK(of_rank == bits.front());
  return bits.front();
}

// A collective among more ranks than cores takes Gloo milliseconds, so types and counts are not
// crossed.
std::string run_short_suite(ProcessGroup& group) {
  const std::vector<DType> one{DType::float32};
  const std::vector<std::int64_t> few{group.size() + 1};
  CpuDevice device;
  check_collectives(group, device, one, usual_counts(group.size()));
  check_collectives(group, device, all_dtypes, few);
  check_messages_and_splits(group, device);
  check_large(group, device);
  return std::to_string(bits_of_sums(group, device));
}

// What each world does with so many ranks; the tests among more take two thirds of the seconds.
void check_core(int ranks) {
  sim::Core core(world_of(ranks));
  ThreadHost host(core);
  host.run([&](sim::Port& port, int rank) {
    const auto group = make_sim_group(port, rank, ranks);
    run_suite(*group);
  });
  if (core.finding()) FAIL(core.finding()->message);
  for (int rank = 0; rank < ranks; ++rank) CHECK(host.failure(rank) == "");
}

void check_fibers(int ranks) {
  sim::Core core(world_of(ranks));
  std::vector<std::string> bits(static_cast<std::size_t>(ranks), bits_on_core(ranks));
  const auto expected = bits;
  sim::FiberOptions patient;  // a sanitizer makes a tensor of some MiB take seconds
  patient.idle_s = 100;
  const auto result = sim::run_fibers(
      core,
      [&](sim::FiberRank& self) {
        const auto group = make_sim_group(self.port, self.rank, ranks);
        bits[static_cast<std::size_t>(self.rank)] = run_suite(*group);
      },
      patient);
  if (result.finding) FAIL(result.finding->message);
  CHECK(bits == expected);
}

void check_shared_memory(int ranks) {
  const std::string bits = bits_on_core(ranks);
  for (const auto& outcome : run_gloo(ranks, run_suite_in_halves, late_s, Transport::shm)) {
    INFO(outcome.message);
    CHECK(outcome.ok);
    CHECK(outcome.message == bits);
  }
}

// All ranks hold the same bits.
template <typename Outcomes>
void check_same_bits(const Outcomes& outcomes) {
  for (const auto& outcome : outcomes) {
    INFO(outcome.message);
    CHECK(outcome.ok);
    CHECK(outcome.message == outcomes.front().message);
  }
}

}  // namespace

TEST_CASE("conformance: a group of one rank does all that a larger one does") {
  const auto group = make_solo_group();
  CpuDevice device;
  check_collectives(*group, device, all_dtypes, usual_counts(1));
}

TEST_CASE("conformance: all collectives, types, operators and counts on the simulator's core") {
  check_core(GENERATE(1, 2, 3, 4, 5));
}

TEST_CASE("conformance among more: all collectives on the simulator's core") {
  check_core(GENERATE(7, 8));
}

TEST_CASE("conformance: fibers do the same, with the same bits") {
  check_fibers(GENERATE(1, 2, 3, 4, 5));
}

TEST_CASE("conformance among more: fibers") { check_fibers(GENERATE(6, 7, 8)); }

TEST_CASE("conformance: the same seed gives fibers the same trace, any seed the same time") {
  const int ranks = GENERATE(2, 3, 5, 8);
  std::vector<double> seconds;
  std::vector<std::uint64_t> hashes;
  for (const std::uint64_t seed : {0, 0, 5, 6}) {
    sim::Options options = world_of(ranks);
    options.seed = seed;
    sim::Core core(options);
    const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
      CpuDevice device;
      check_messages_and_splits(*make_sim_group(self.port, self.rank, ranks), device);
    });
    if (result.finding) FAIL(result.finding->message);
    seconds.push_back(core.counters().makespan_s);
    hashes.push_back(core.counters().trace_hash);
  }
  // Threads, which ask for messages in the longer way.
  sim::Core core(world_of(ranks));
  ThreadHost host(core);
  host.run([&](sim::Port& port, int rank) {
    CpuDevice device;
    check_messages_and_splits(*make_sim_group(port, rank, ranks), device);
  });
  seconds.push_back(core.counters().makespan_s);
  CHECK(seconds == std::vector<double>(5, seconds.front()));
  CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("conformance: the simulator's processes do the same") {
  bits_on_process_host(GENERATE(1, 2, 3, 4, 5));
}

TEST_CASE("conformance among more: the simulator's processes") {
  bits_on_process_host(GENERATE(7, 8));
}

TEST_CASE("conformance: ranks that share memory do the same, with the simulator's bits") {
  check_shared_memory(GENERATE(2, 3, 4, 5));
}

TEST_CASE("conformance among more: ranks that share memory") {
  check_shared_memory(GENERATE(7, 8));
}

TEST_CASE("conformance: Gloo does the same") {
  const int ranks = GENERATE(2, 3);  // also_over_tcp, and 5 below
  check_same_bits(run_gloo(ranks, run_short_suite));
}

TEST_CASE("conformance among more: Gloo") { check_same_bits(run_gloo(5, run_short_suite)); }

TEST_CASE("conformance: ranks of several hosts do the same") {
  const int ranks = GENERATE(2, 3);
  check_same_bits(run_on_hosts(ranks, 2, run_short_suite));
}

TEST_CASE("conformance among more: ranks of several hosts") {
  check_same_bits(run_on_hosts(5, 2, run_short_suite));
}
