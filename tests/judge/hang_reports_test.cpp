// The reports of the exam read_the_hang, beside what the simulator says of the same programs.
#include <algorithm>
#include <random>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "grader/parts/03_collectives/read_the_hang/rules.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using namespace lockstep::grader::read_the_hang;
using comm::CallKind;
using comm::HangKind;

namespace {

HangCase drawn(const HangMaker& maker, unsigned seed) {
  std::mt19937 random(seed);
  return maker.make(
      [&](int n) { return static_cast<int>(random() % static_cast<std::uint32_t>(n)); });
}

void carry_out(comm::ProcessGroup& group, const comm::CallRecord& call, int peer, Device& device) {
  const Tensor data = zeros({call.count}, DType::float32, device);
  switch (call.kind) {
    case CallKind::send:
      return group.send(data, peer);
    case CallKind::recv:
      return group.recv(data, peer);
    case CallKind::broadcast:
      return group.broadcast(data, peer);
    case CallKind::all_reduce:
      return group.all_reduce(data, ReduceOp::sum);
    case CallKind::all_gather:
      return group.all_gather(data, zeros({call.count * group.size()}, DType::float32, device));
    case CallKind::barrier:
      return group.barrier();
    default:
      FAIL("no hang is made with this call");
  }
}

// The same programs on the simulator. It knows no rank that computes for ever: there it returns.
sim::Finding on_the_simulator(const HangCase& hang) {
  sim::Options options;
  options.ranks = static_cast<int>(hang.programs.size());
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto world = comm::make_sim_group(self.port, self.rank, self.ranks);
    const auto half = world->split(self.rank % 2, self.rank);
    for (const auto& call : hang.programs[static_cast<std::size_t>(self.rank)].calls) {
      carry_out(call.group == 0 ? *world : *half, call, call.group == 0 ? call.peer : call.peer / 2,
                device);
    }
  });
  REQUIRE(result.finding);
  return *result.finding;
}

sim::FindingKind kind_of(HangKind kind) {
  return kind <= HangKind::wrong_count ? sim::FindingKind::mismatch : sim::FindingKind::deadlock;
}

}  // namespace

TEST_CASE("reports of hangs: what the reference reads in them is what was made") {
  for (const HangMaker& maker : hang_makers()) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const HangCase hang = drawn(maker, seed);
      const comm::HangReport report = report_of(hang);
      INFO(maker.name << ", seed " << seed << ": " << comm::text_of(report));
      CHECK(comm::text_of(comm::diagnose(report)) == comm::text_of(hang.right));
    }
  }
}

TEST_CASE("reports of hangs: the simulator says of the same programs that they hang, and how") {
  for (const HangMaker& maker : hang_makers()) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      const HangCase hang = drawn(maker, seed);
      const sim::Finding finding = on_the_simulator(hang);
      INFO(maker.name << ", seed " << seed << ": " << finding.message);
      if (maker.kinds == Kinds::several) continue;
      CHECK(finding.kind == kind_of(hang.right.kind));
      std::vector<int> ranks = finding.ranks;
      std::sort(ranks.begin(), ranks.end());
      if (hang.right.kind == HangKind::cycle) CHECK(ranks == hang.right.culprits);
      for (const int culprit : hang.right.culprits) {
        CHECK(std::binary_search(ranks.begin(), ranks.end(), culprit));
      }
    }
  }
}

TEST_CASE("reports of hangs: ranks that do alike share a sentence, and the number is said") {
  comm::HangReport report;
  report.groups = {{0, 1, 2}};
  const comm::CallRecord call{CallKind::all_reduce, 0, 7, -1, 1000};
  report.ranks = {{comm::Activity::waiting, call, {7}},
                  {comm::Activity::returned, {CallKind::all_reduce, 0, 6, -1, 1000}, {6}},
                  {comm::Activity::waiting, call, {7}}};
  CHECK(
      comm::text_of(report) ==
      "ranks 0, 2 wait in all_reduce number 7 (1000 elements), having called 7 collectives of the "
      "world; rank 1 has returned, having called 6 collectives of the world");
  CHECK(comm::text_of(comm::diagnose(report)) == "early_exit, culprit rank 1, number 7");
}
