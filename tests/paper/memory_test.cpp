// Memory by itself, and the counters of a kernel.
#include <random>
#include <utility>
#include <vector>

#include "engine/paper/memory/quick.hpp"
#include "tests/catch.hpp"
#include "tests/paper/faults.hpp"

namespace lockstep::paper::test {
namespace {

struct Bare {
  Orders orders;
  Findings findings;
  Memory memory{4096, orders, findings};
};

TEST_CASE("paper: an address is never given out twice, and memory that is spent is none") {
  Bare bare;
  const std::uint64_t first = bare.memory.allocate(1000);
  CHECK(first % 512 == 0);
  CHECK(bare.memory.used() == 1000);
  CHECK(bare.memory.allocate(4000) == 0);
  CHECK(bare.memory.release(first, 1));
  const std::uint64_t second = bare.memory.allocate(4000);
  CHECK(second != 0);
  CHECK(second != first);
  CHECK(bare.memory.allocate(0) == 0);
  CHECK(bare.memory.allocation_of(second + 3999) == second);
  CHECK(bare.memory.allocation_of(second + 4000) == 0);
  CHECK(*bare.memory.alias(second) == std::byte{0xFF});
  CHECK(bare.findings.report() == "");
}

TEST_CASE("paper: what is freed twice, in the middle or never is a finding") {
  Bare bare;
  const std::uint64_t first = bare.memory.allocate(64), second = bare.memory.allocate(32);
  CHECK(bare.memory.release(first, 1));
  CHECK_FALSE(bare.memory.release(first, 1));
  CHECK(bare.findings.report() == "bad call: free of allocation #1, which has been freed before\n");
  bare.findings.clear();
  CHECK_FALSE(bare.memory.release(second + 8, 1));
  const std::string middle = bare.findings.report();
  CHECK(middle.find("where no allocation begins: byte 8 of allocation #2 (32 bytes)") !=
        std::string::npos);
  bare.findings.clear();
  bare.memory.report_leaks();
  CHECK(bare.findings.report() == "leak: allocation #2 of 32 bytes was never freed\n");
}

TEST_CASE("paper: a copy past the end, or of what was freed, is not carried out") {
  Bare bare;
  const std::uint64_t there = bare.memory.allocate(64);
  CHECK_FALSE(bare.memory.touch_range(Touch::write, there, 65, 1, "cudaMemset"));
  CHECK(bare.findings.report() ==
        "out of bounds: cudaMemset: a write of 65 bytes at byte 0 of allocation #1 (64 bytes)\n");
  bare.findings.clear();
  CHECK(bare.memory.release(there, 1));
  CHECK_FALSE(bare.memory.touch_range(Touch::read, there, 4, 2, "cudaMemcpy"));
  CHECK(bare.findings.report() ==
        "use after free: cudaMemcpy: a read of 4 bytes at byte 0 of allocation #1 (64 bytes), "
        "which was freed\n");
}

class Nobody final : public Witness {
 public:
  Where where(std::uint32_t) const override {
    return {"k", "", ++asked_, {}, {}};  // each finding by itself
  }

 private:
  mutable int asked_ = 0;
};

TEST_CASE("paper: the quick way through the shadow finds what the slow one does") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t end) {
      return static_cast<std::uint32_t>(random() % end);
    };
    Bare slow, quick;
    const Nobody slow_witness, quick_witness;
    const std::uint64_t there = slow.memory.allocate(64), here = quick.memory.allocate(64);
    for (const auto& pair : {std::pair<Operation, Operation>{1, 2}, {2, 4}, {1, 5}, {3, 5}}) {
      slow.orders.unordered.insert(pair);
      quick.orders.unordered.insert(pair);
    }
    Toucher toucher;
    for (int step = 0; step < 400; ++step) {
      if (below(40) == 0) ++toucher.operation, toucher.epoch = 0;
      if (toucher.operation == 0 || toucher.operation > 5) toucher.operation = 1 + below(5);
      if (below(10) == 0) toucher.block = below(2);
      if (below(10) == 0) ++toucher.epoch;
      toucher.thread = below(3) * 32 + below(3);
      const std::size_t bytes = std::size_t{1} << below(5);
      const std::uint64_t offset = below(72 / static_cast<std::uint32_t>(bytes)) * bytes;
      const bool writes = below(3) == 0;
      const Touch touch = writes ? Touch::write : Touch::read;
      toucher.witness = &slow_witness;
      const bool carried = slow.memory.touch(touch, there + offset, bytes, toucher);
      toucher.witness = &quick_witness;
      const bool in_order =
          writes ? quick.memory.touch_quickly<Touch::write>(here + offset, bytes, toucher)
                 : quick.memory.touch_quickly<Touch::read>(here + offset, bytes, toucher);
      CHECK((in_order || quick.memory.touch(touch, here + offset, bytes, toucher)) == carried);
    }
    CHECK(slow.findings.size() > 10);
    std::vector<Kind> slow_kinds, quick_kinds;
    for (const Finding& finding : slow.findings.all()) slow_kinds.push_back(finding.kind);
    for (const Finding& finding : quick.findings.all()) quick_kinds.push_back(finding.kind);
    CHECK(slow_kinds == quick_kinds);
  }
}

Counters counted(const std::string& body) {
  Settings settings;
  settings.counters = true;
  PaperDevice desk(kernel_of(body), settings);
  const std::uint64_t data = desk.upload(std::vector<std::uint32_t>(1024, 1));
  CHECK(desk.launch("k", {2, 1, 1}, {64, 1, 1}, 0, data, data) == Outcome::done);
  CHECK(desk.findings.report() == "");
  return desk.machine.counters();
}

TEST_CASE("paper: counters are what the code shows") {
  const Counters straight = counted("ld.global.u32 %b, [%own];\n");
  CHECK(straight.launches == 1);
  CHECK(straight.device_requests == 4);      // 2 blocks of 2 warps
  CHECK(straight.sectors_a_request() == 4);  // 32 lanes of 4 bytes, 32 bytes a sector
  const Counters spread = counted("mad.wide.u32 %x, %tid, 32, %data;\nld.global.u32 %b, [%x];\n");
  CHECK(spread.sectors_a_request() == 32);
  CHECK(spread.instructions == straight.instructions + 4);
  CHECK(spread.lane_instructions == 32 * spread.instructions);
  const char* column =
      "mov.u64 %x, board;\nmad.wide.u32 %x, %tid, 16, %x;\nst.shared.u32 [%x], %tid;\n";
  CHECK(counted(column).passes_a_request() == 4);  // each fourth bank: 8 banks for 32 lanes
  const char* row =
      "mov.u64 %x, board;\nmad.wide.u32 %x, %tid, 4, %x;\nst.shared.u32 [%x], %tid;\n";
  CHECK(counted(row).passes_a_request() == 1);
  CHECK(counted("fma.rn.f32 %a, %b, %c, %d;\n").flops == 2 * 128);
  CHECK(counted("red.global.add.u32 [%data], 1;\n").atomics == 128);
  CHECK(counted("bar.sync 0;\nbar.sync 0;\n").barriers == 4);
  CHECK(counted("setp.lt.u32 %p, %tid, 40;\n@%p bra over;\nadd.s32 %b, %b, 1;\nover:\n")
            .divergent_branches == 2);
}

TEST_CASE("paper: the order of warps and blocks comes of the seed, and of the seed only") {
  // The threads draw tickets: who comes first, the seed decides.
  const std::string draws = "atom.global.add.u32 %b, [%other], 1;\nst.global.u32 [%own], %b;\n";
  const auto tickets = [&](std::uint64_t seed) {
    Settings settings;
    settings.seed = seed;
    PaperDevice desk(kernel_of(draws), settings);
    const std::uint64_t data = desk.upload(std::vector<std::uint32_t>(512, 0));
    const std::uint64_t other = desk.upload(std::vector<std::uint32_t>(1, 0));
    CHECK(desk.launch("k", {4, 1, 1}, {128, 1, 1}, 0, data, other) == Outcome::done);
    CHECK(desk.findings.report() == "");
    return desk.download<std::uint32_t>(data, 512);
  };
  CHECK(tickets(1) == tickets(1));
  bool differ = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) differ = differ || tickets(seed) != tickets(1);
  CHECK(differ);
}

}  // namespace
}  // namespace lockstep::paper::test
