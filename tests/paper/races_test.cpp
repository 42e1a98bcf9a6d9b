// Planted races: between warps, between blocks, between operations; and what is no race.
#include "tests/catch.hpp"
#include "tests/paper/faults.hpp"

namespace lockstep::paper::test {
namespace {

// Each thread's word of shared memory in %x, another warp's in %y.
#define MINE                        \
  "mov.u64 %z, board;\n"            \
  "mad.wide.u32 %x, %tid, 4, %z;\n" \
  "xor.b32 %b, %tid, 32;\n"         \
  "mad.wide.u32 %y, %b, 4, %z;\n"

TEST_CASE("paper: warps of a block that meet in memory have a barrier between") {
  check_faults({
      {"a write, and no barrier before the read",
       MINE "st.shared.u32 [%x], %tid;\n"
            "ld.shared.u32 %c, [%y];\n",
       MINE "st.shared.u32 [%x], %tid;\n"
            "bar.sync 0;\n"
            "ld.shared.u32 %c, [%y];\n",
       "race in shared memory in k at faults.cu:15, block "},
      {"its sentence",
       MINE "st.shared.u32 [%x], %tid;\n"
            "ld.shared.u32 %c, [%y];\n",
       MINE "st.shared.u32 [%x], %tid;\n"
            "bar.sync 0;\n"
            "ld.shared.u32 %c, [%y];\n",
       " of another warp writes; no barrier is between the two: __syncthreads() is missing"},
      {"a read, and no barrier before the next write",
       MINE "st.shared.u32 [%x], %tid;\n"
            "bar.sync 0;\n"
            "ld.shared.u32 %c, [%y];\n"
            "st.shared.u32 [%x], %c;\n",
       MINE "st.shared.u32 [%x], %tid;\n"
            "bar.sync 0;\n"
            "ld.shared.u32 %c, [%y];\n"
            "bar.sync 0;\n"
            "st.shared.u32 [%x], %c;\n",
       "no barrier is between the two: __syncthreads() is missing"},
      {"two writes of one word", MINE "st.shared.u32 [%z], %tid;\n",
       MINE "setp.eq.u32 %p, %tid, 0;\n"
            "@%p st.shared.u32 [%z], %tid;\n",
       "writes byte 0 of shared memory, which thread "},
      {"an atomic and a plain read",
       MINE "setp.eq.u32 %p, %tid, 0;\n"
            "@%p st.shared.u32 [%z], 0;\n"
            "bar.sync 0;\n"
            "red.shared.add.u32 [%z], 1;\n"
            "ld.shared.u32 %c, [%z];\n",
       MINE "setp.eq.u32 %p, %tid, 0;\n"
            "@%p st.shared.u32 [%z], 0;\n"
            "bar.sync 0;\n"
            "red.shared.add.u32 [%z], 1;\n"
            "bar.sync 0;\n"
            "ld.shared.u32 %c, [%z];\n",
       "of shared memory, which thread "},
      {"in device memory",
       "st.global.u32 [%own], %tid;\n"
       "xor.b32 %b, %index, 32;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "ld.global.u32 %c, [%x];\n",
       "st.global.u32 [%own], %tid;\n"
       "xor.b32 %b, %index, 32;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "bar.sync 0;\n"
       "ld.global.u32 %c, [%x];\n",
       "race in a block in k at faults.cu:13, block "},
      {"bytes of one word are no race, the same byte is", MINE "st.shared.u8 [%z], %tid;\n",
       MINE "cvt.u64.u32 %x, %tid;\n"
            "add.s64 %x, %x, %z;\n"
            "st.shared.u8 [%x], %tid;\n",
       "race in shared memory"},
  });
}

TEST_CASE("paper: blocks of a launch meet in atomics only") {
  check_faults({
      {"a sum without an atomic",
       "ld.global.u32 %b, [%data];\n"
       "add.s32 %b, %b, 1;\n"
       "st.global.u32 [%data], %b;\n",
       "red.global.add.u32 [%data], 1;\n", "race between blocks in k at faults.cu:"},
      {"its sentence",
       "setp.ne.u32 %p, %tid, 0;\n"
       "@%p exit;\n"
       "st.global.u32 [%data+8], %ctaid;\n",
       "setp.ne.u32 %p, %index, 0;\n"
       "@%p exit;\n"
       "st.global.u32 [%data+8], %ctaid;\n",
       "writes byte 8 of allocation #2 (512 bytes), which block "},
      {"a barrier orders no blocks",
       "st.global.u32 [%own], %tid;\n"
       "bar.sync 0;\n"
       "xor.b32 %b, %index, 64;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "ld.global.u32 %c, [%x];\n",
       "st.global.u32 [%own], %tid;\n"
       "bar.sync 0;\n"
       "xor.b32 %b, %index, 32;\n"
       "mad.wide.u32 %x, %b, 4, %data;\n"
       "ld.global.u32 %c, [%x];\n",
       "; blocks of a launch are not ordered: use an atomic, or a second launch"},
      {"a result that one block reads while the others add to it",
       "red.global.add.u32 [%data], 1;\n"
       "ld.global.u32 %b, [%data];\n",
       "atom.global.add.u32 %b, [%data], 1;\n", "race between blocks"},
  });
}

// Two launches of one kernel, and whether anything orders them.
std::string two_launches(const char* body, bool ordered) {
  PaperDevice desk(kernel_of(body));
  const std::uint64_t data = desk.upload(std::vector<std::uint32_t>(128, 1));
  const std::uint64_t other = desk.upload(std::vector<std::uint32_t>(128, 1));
  if (!ordered) desk.orders.unordered.insert({desk.operation + 1, desk.operation + 2});
  for (int launch = 0; launch < 2; ++launch) {
    CHECK(desk.launch("k", {2, 1, 1}, {64, 1, 1}, 0, data, other) == Outcome::done);
  }
  return desk.findings.report();
}

TEST_CASE("paper: operations that meet in memory are ordered") {
  const char* writes = "st.global.u32 [%own], %tid;\n";
  CHECK(two_launches(writes, true) == "");
  const std::string found = two_launches(writes, false);
  INFO(found);
  CHECK(found.find("race between streams in k at faults.cu:10, block ") == 0);
  CHECK(found.find("operation #3 writes byte ") != std::string::npos);
  CHECK(found.find("which operation #2 writes; nothing orders the two: a wait for an event or a "
                   "stream is missing") != std::string::npos);
  const char* reads = "ld.global.u32 %b, [%own];\n";
  CHECK(two_launches(reads, false) == "");  // two that read are no race
}

TEST_CASE("paper: a copy that nothing orders is a race, and reads what is written only") {
  PaperDevice desk(kernel_of("st.global.u32 [%own], %tid;\n"));
  const std::uint64_t data = desk.memory.allocate(128 * 4), other = desk.memory.allocate(128 * 4);
  CHECK(desk.memory.touch_range(Touch::read, other, 512, desk.operation, "cudaMemcpy"));
  CHECK(desk.findings.report() ==
        "uninitialised: cudaMemcpy reads byte 0 of allocation #2 (512 bytes), which nothing has "
        "written; its content is arbitrary on a GPU\n");
  desk.findings.clear();
  desk.launch("k", {2, 1, 1}, {64, 1, 1}, 0, data, other);
  const Operation launch = desk.operation;
  CHECK(desk.memory.touch_range(Touch::read, data, 512, launch + 1, "cudaMemcpy"));
  CHECK(desk.findings.report() == "");
  desk.orders.unordered.insert({launch, launch + 2});
  CHECK(desk.memory.touch_range(Touch::read, data, 512, launch + 2, "cudaMemcpy"));
  CHECK(desk.findings.report() ==
        "race between streams: operation #" + std::to_string(launch + 2) +
            " reads byte 0 of allocation #1 (512 bytes), which operation #" +
            std::to_string(launch) +
            " writes; nothing orders the two: a wait for an event or a stream is missing\n");
}

TEST_CASE("paper: without checks, bounds are still kept, and races are not looked for") {
  Settings settings;
  settings.checks = false;
  PaperDevice desk(kernel_of("st.global.u32 [%data], %tid;\nst.global.u32 [%own+4], %tid;\n"),
                   settings);
  const std::uint64_t data = desk.upload(std::vector<std::uint32_t>(128, 1));
  CHECK(desk.launch("k", {2, 1, 1}, {64, 1, 1}, 0, data, data) == Outcome::illegal_address);
  CHECK(desk.findings.size() == 1);
  CHECK(desk.findings.all().at(0).kind == Kind::out_of_bounds);
}

}  // namespace
}  // namespace lockstep::paper::test
