// What paper does not know is refused by name and line; what no GPU takes, with the limit.
#include "tests/catch.hpp"
#include "tests/paper/faults.hpp"

namespace lockstep::paper::test {
namespace {

struct Refusal {
  const char* body;
  const char* why;
};

TEST_CASE("paper: PTX that it does not know is refused by name and line, never ignored") {
  const std::vector<Refusal> refusals{
      {"add.rn.relu.f32 %a, %b, %c;\n", "'add.rn.relu.f32' in 'k' is not known to paper"},
      {"mul.wide.u64 %x, %y, %z;\n", "'mul.wide.u64' in 'k' is not known to paper"},
      {"ld.global.L1::evict_last.u32 %a, [%data];\n",
       "'ld.global.L1::evict_last.u32' in 'k' is not known to paper"},
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a}, [%x];\n",
       "'ldmatrix.sync.aligned.m8n8.x1.shared.b16' in 'k' is not known to paper"},
      {"cp.async.ca.shared.global [%x], [%y], 4;\n",
       "'cp.async.ca.shared.global' in 'k' is not known to paper"},
      {"mov.u32 %a, %pm0;\n", "the operand '%pm0' is not known to paper"},
      {"bar.sync 0, 32;\n", "'bar.sync' with a number of threads is not known to paper"},
      {"bar.sync %a;\n", "a barrier whose number is in a register"},
      {"bra nowhere;\n", "the label 'nowhere' is nowhere"},
      {"call.uni (%a), f, (%b);\n", "a call of 'f', which the PTX does not hold"},
      {"add.s32 %a, %b;\n", "'add.s32' has too few operands"},
      {"add.s32 %a, %b, %c, %d;\n", "'add.s32' has too many operands"},
      {"add.s64 %x, %a, %y;\n", "the register '%a' is too narrow for .s64"},
      {"add.s32 %a, %unknown, 1;\n", "the operand '%unknown' is not known to paper"},
      {"add.s32 1, %a, 1;\n", "the result '1' is no register"},
      {"setp.eq.f16 %p|%q, %a, %b;\n", "'setp.eq.f16' has no second result"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.body);
    const Seen seen = seen_with(std::string("add.s32 %a, %a, 1;\n") + refusal.body, {}, 1);
    INFO(seen.findings);
    CHECK(seen.outcome == Outcome::refused);
    CHECK(seen.findings.find(
              "refused in k, block (0,0,0), thread (0,0,0): paper does not run this kernel: ") ==
          0);
    CHECK(seen.findings.find(refusal.why) != std::string::npos);
  }
}

TEST_CASE("paper: a refusal names the line of the source, and only the kernel that has it") {
  const std::string text = kernel_of("add.s32 %a, %a, 1;\nmma.sync %a, %b;\n");
  ptx::Module module = ptx::decode(text + ".visible .entry fine()\n{\nret;\n}\n");
  CHECK(module.error == "");
  CHECK(module.kernels.at("k").refusal.find("(faults.cu:11)") != std::string::npos);
  CHECK(module.kernels.at("fine").refusal == "");
  CHECK(ptx::decode("no PTX at all").error != "");
}

TEST_CASE("paper: PTX that ends too early is refused, and is not read for ever") {
  ptx::Module module = ptx::decode(".visible .entry k()\n{\n.pragma \"nounroll\"\n}\n");
  CHECK(module.kernels.at("k").refusal.find("a ';' is missing") != std::string::npos);
  CHECK(ptx::decode(".section .debug_loc").error.find("a '{' is missing") != std::string::npos);
  CHECK(ptx::decode(".file 1 \"a.cu").error.find("a '\"' is missing") != std::string::npos);
  CHECK(ptx::decode(".visible .entry k()\n{\nret;").error.find("a '}' is missing") !=
        std::string::npos);
}

TEST_CASE("paper: a launch that no GPU takes is a finding with the limit") {
  struct Wrong {
    Dim3 grid, block;
    std::size_t shared;
    const char* why;
  };
  const std::vector<Wrong> launches{
      {{1, 1, 1}, {1025, 1, 1}, 0, "a block of 1025x1x1 threads; a GPU takes 1024 at most"},
      {{1, 1, 1}, {32, 8, 8}, 0, "a block of 32x8x8 threads; a GPU takes 1024 at most"},
      {{1, 1, 1}, {1, 1, 65}, 0, "a block of 1x1x65 threads; z is 64 at most"},
      {{1, 1, 1}, {0, 1, 1}, 0, "a block of 0x1x1 threads is empty"},
      {{0, 1, 1}, {32, 1, 1}, 0, "a grid of 0x1x1 blocks is empty; launch nothing instead"},
      {{1, 65536, 1},
       {32, 1, 1},
       0,
       "a grid of 1x65536x1 blocks; a GPU takes 2^31-1 x 65535 x 65535 at most"},
      {{1, 1, 1},
       {32, 1, 1},
       48 * 1024,
       "1024 + 49152 bytes of shared memory; the limit is 49152 (cudaFuncSetAttribute raises it, "
       "to 163 KiB)"},
  };
  for (const Wrong& wrong : launches) {
    INFO(wrong.why);
    PaperDevice desk(kernel_of("st.global.u32 [%own], %tid;\nmov.u64 %x, board;\n"));
    const std::uint64_t data = desk.upload(std::vector<std::uint32_t>(128, 1));
    CHECK(desk.launch("k", wrong.grid, wrong.block, wrong.shared, data, data) ==
          Outcome::invalid_configuration);
    CHECK(desk.findings.report() ==
          std::string("limit in k, block (0,0,0), thread (0,0,0): ") + wrong.why + "\n");
  }
}

}  // namespace
}  // namespace lockstep::paper::test
