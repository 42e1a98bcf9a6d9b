// Memory by itself, and the counters of a kernel.
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

Counters counted(const std::string& body) {
  Settings settings;
  settings.counters = true;
  Desk desk(kernel_of(body), settings);
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
    Desk desk(kernel_of(draws), settings);
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
