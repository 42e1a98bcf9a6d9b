// Branches, calls, ends, barriers and fences.
#include "tests/paper/conformance/case.hpp"

namespace lockstep::paper::test {
namespace {

// The sum of 1 to n, around a loop of `text`.
Case loop_case(const Opcode& o) {
  Case made =
      plain_case(o, {"u32"}, {"u32"}, [](const Words& w) { return Words{w[0] * (w[0] + 1) / 2}; });
  made.shape = [uniform = o.has("uni")](Words& w, std::uint32_t n) {
    w[0] = uniform ? n / block_threads + 1 : n % 7;  // .uni: all lanes go the same way
  };
  made.guard = Case::Guard::all;
  made.lines = {"mov.u32 $0, 0",           "mov.u32 %w0, #0",   "again_~:",
                "setp.eq.u32 %q0, %w0, 0", "@%q0 bra over_~",   "add.s32 $0, $0, %w0",
                "sub.s32 %w0, %w0, 1",     o.text + " again_~", "over_~:"};
  return made;
}

// A call and a return under a condition: three times the operand, or the operand where it is odd.
Case call_case(const Opcode& o) {
  const bool call = o.name() == "call";
  Case made = plain_case(o, {"u32"}, {"u32"},
                         [](const Words& w) { return Words{w[0] % 2 == 1 ? w[0] : 3 * w[0]}; });
  made.shape = [uniform = o.has("uni")](Words& w, std::uint32_t n) {
    w[0] = uniform ? n / block_threads : n % 13;
  };
  made.guard = Case::Guard::all;
  made.functions =
      ".func (.param .b32 back) triple_~(.param .b32 given)\n{\n.reg .b32 %f<4>;\n.reg .pred %t;\n"
      "ld.param.u32 %f0, [given];\nst.param.b32 [back], %f0;\nand.b32 %f1, %f0, 1;\n"
      "setp.eq.u32 %t, %f1, 1;\n@%t " +
      std::string(call ? "ret" : o.text) +
      ";\nmul.lo.s32 %f2, %f0, 3;\nst.param.b32 [back], %f2;\nret;\n}\n";
  made.lines = {"{",
                ".param .b32 given_~",
                ".param .b32 back_~",
                "st.param.b32 [given_~], #0",
                (call ? o.text : "call.uni") + " (back_~), triple_~, (given_~)",
                "ld.param.b32 $0, [back_~]",
                "}"};
  return made;
}

// Every other thread stores and ends; the others find out that they went on.
Case end_case(const Opcode& o) {
  Case made = plain_case(o, {"u32"}, {"u32"},
                         [](const Words& w) { return Words{w[0] % 2 == 0 ? 1U : 7U}; });
  made.shape = [](Words& w, std::uint32_t n) { w[0] = n; };
  made.guard = Case::Guard::all;
  made.lines = {"mov.u32 $0, 1",           "and.b32 %w0, #0, 1",
                "setp.eq.u32 %q0, %w0, 0", "st.global.u32 [%out], $0",
                "@%q0 " + o.text,          "mov.u32 $0, 7"};
  return made;
}

// Each thread reads what one of the other warp has written before the barrier.
Case barrier_case(const Opcode& o) {
  Case made;
  made.opcode = o.text;
  made.results = {"u32"};
  made.operands = {"u32"};
  made.guard = Case::Guard::all;
  made.lines = {"st.shared.u32 [%board], #0", o.text + " 0",
                "xor.b32 %w0, %w9, 33",       "and.b32 %w0, %w0, 63",
                "mov.u64 %x0, board_~",       "mad.wide.u32 %x0, %w0, 32, %x0",
                "ld.shared.u32 $0, [%x0]"};
  made.block = [](const std::vector<Words>& threads, const std::vector<char>&) {
    std::vector<Words> results;
    for (std::size_t n = 0; n < threads.size(); ++n) results.push_back({threads[n ^ 33][0]});
    return results;
  };
  return made;
}

Case voting_barrier_case(const Opcode& o) {
  const bool counts = o.has("popc"), all = o.has("and");
  Case made;
  made.opcode = o.text;
  made.results = {counts ? "u32" : "pred"};
  made.operands = {"pred"};
  made.guard = Case::Guard::all;
  made.lines = {o.text + " $0, 0, #0"};
  made.shape = [](Words& w, std::uint32_t n) {
    const std::uint32_t block = n / block_threads;
    w[0] = block == 0 ? 1 : block == 1 ? 0 : w[0];
  };
  made.block = [=](const std::vector<Words>& threads, const std::vector<char>&) {
    std::uint64_t ones = 0;
    for (const Words& w : threads) ones += w[0] & 1;
    const bool flag = all ? ones == threads.size() : ones != 0;
    return std::vector<Words>(threads.size(), Words{counts ? ones : std::uint64_t{flag}});
  };
  return made;
}

}  // namespace

std::vector<Case> control_cases(const Opcode& o) {
  const std::string& name = o.name();
  if (name == "bra") return {loop_case(o)};
  if (name == "call" || name == "ret") return {call_case(o)};
  if (name == "exit") return {end_case(o)};
  if (o.has("red")) return {voting_barrier_case(o)};
  if (name == "bar" || name == "barrier") return {barrier_case(o)};
  const auto same = [](const Words& w) { return Words{w[0]}; };
  if (name == "membar" || name == "fence" || name == "nanosleep") {
    Case made = plain_case(o, {"u32"}, {"u32"}, same);
    made.lines = {o.text + (name == "nanosleep" ? " 20" : ""), "mov.u32 $0, #0"};
    return {made};
  }
  if (name == "trap") {  // that it stops a kernel is seen in faults_test
    Case made = plain_case(o, {"u32"}, {"u32"}, same);
    made.lines = {"setp.ne.u32 %q0, %w9, %w9", "@%q0 trap", "mov.u32 $0, #0"};
    return {made};
  }
  return {};
}

}  // namespace lockstep::paper::test
