// What a module holds besides opcodes: special registers, constants, variables, scopes, calls and
// limits.
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/paper/paper_device.hpp"

namespace lockstep::paper::test {
namespace {

using Numbers = std::vector<std::uint32_t>;
const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n";

// Runs `text`'s kernel k on one warp; the kernel writes to its only parameter.
Numbers written_by(const std::string& text, std::size_t count, std::size_t dynamic_shared = 0) {
  PaperDevice desk(head + text);
  const std::uint64_t out = desk.upload(Numbers(count, 0));
  const Outcome outcome = desk.launch("k", {1, 1, 1}, {32, 1, 1}, dynamic_shared, out);
  INFO(desk.findings.report());
  CHECK(outcome == Outcome::done);
  CHECK(desk.findings.report() == "");
  return desk.download<std::uint32_t>(out, count);
}
// A kernel whose lines have %out, and whose registers are %a0..9 (32 bits) and %b0..9 (64 bits).
std::string kernel_k(const std::string& lines) {
  return ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %a<10>;\n.reg .b64 %b<10>, %out;\n"
         ".reg .pred %p;\nld.param.u64 %out, [p];\n" +
         lines + "ret;\n}\n";
}

TEST_CASE("paper: special registers say where a thread is") {
  const std::array<const char*, 24> names{"tid.x",           "tid.y",       "tid.z",
                                          "ntid.x",          "ntid.y",      "ntid.z",
                                          "ctaid.x",         "ctaid.y",     "ctaid.z",
                                          "nctaid.x",        "nctaid.y",    "nctaid.z",
                                          "laneid",          "warpid",      "nwarpid",
                                          "lanemask_eq",     "lanemask_lt", "lanemask_le",
                                          "lanemask_gt",     "lanemask_ge", "dynamic_smem_size",
                                          "total_smem_size", "smid",        "nsmid"};
  constexpr Dim3 grid{2, 3, 2}, block{5, 4, 3};
  std::string lines =
      "mov.u32 %a0, %ctaid.z;\nmad.lo.s32 %a0, %a0, 3, 0;\nmov.u32 %a1, %ctaid.y;\n"
      "add.s32 %a0, %a0, %a1;\nmov.u32 %a1, %ctaid.x;\nmad.lo.s32 %a0, %a0, 2, %a1;\n"
      "mov.u32 %a1, %tid.z;\nmad.lo.s32 %a0, %a0, 3, %a1;\nmov.u32 %a1, %tid.y;\n"
      "mad.lo.s32 %a0, %a0, 4, %a1;\nmov.u32 %a1, %tid.x;\nmad.lo.s32 %a0, %a0, 5, %a1;\n"
      "mad.wide.u32 %out, %a0, 96, %out;\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    lines += std::string("mov.u32 %a2, %") + names[i] + ";\nst.global.u32 [%out+" +
             std::to_string(4 * i) + "], %a2;\n";
  }
  PaperDevice desk(head + kernel_k(lines));
  const std::size_t threads = grid.volume() * block.volume();
  const std::uint64_t out = desk.upload(Numbers(threads * names.size(), 0));
  CHECK(desk.launch("k", grid, block, 64, out) == Outcome::done);
  CHECK(desk.findings.report() == "");
  const Numbers seen = desk.download<std::uint32_t>(out, threads * names.size());
  for (std::uint32_t n = 0; n < threads; ++n) {
    const std::uint32_t thread = n % 60, number = n / 60, lane = thread % 32;
    const std::uint32_t self = std::uint32_t{1} << lane;
    const Numbers wanted{thread % 5,
                         thread / 5 % 4,
                         thread / 20,
                         5,
                         4,
                         3,
                         number % 2,
                         number / 2 % 3,
                         number / 6,
                         2,
                         3,
                         2,
                         lane,
                         thread / 32,
                         2,
                         self,
                         self - 1,
                         self | (self - 1),
                         ~(self | (self - 1)),
                         ~(self - 1),
                         64,
                         64};
    const auto begin = seen.begin() + static_cast<std::ptrdiff_t>(n * names.size());
    INFO("thread " << n);
    CHECK(Numbers(begin, begin + static_cast<std::ptrdiff_t>(wanted.size())) == wanted);
    CHECK(begin[22] < begin[23]);  // smid, of nsmid
  }
}

TEST_CASE("paper: constants are read in each way that PTX writes them") {
  const auto one = std::bit_cast<std::uint32_t>(1.5F);
  const Numbers seen =
      written_by(kernel_k("mov.u32 %a0, 0x1F;\nst.global.u32 [%out], %a0;\n"
                          "mov.u32 %a0, 017;\nst.global.u32 [%out+4], %a0;\n"
                          "mov.u32 %a0, 0b101;\nst.global.u32 [%out+8], %a0;\n"
                          "mov.s32 %a0, -2;\nst.global.u32 [%out+12], %a0;\n"
                          "mov.u32 %a0, 7U;\nst.global.u32 [%out+16], %a0;\n"
                          "mov.f32 %a0, 0f3FC00000;\nst.global.f32 [%out+20], %a0;\n"
                          "mov.f32 %a0, 1.5;\nst.global.f32 [%out+24], %a0;\n"
                          "mov.f64 %b0, 0d3FF8000000000000;\ncvt.rn.f32.f64 %a0, %b0;\n"
                          "st.global.f32 [%out+28], %a0;\n"
                          "st.global.v2.u32 [%out+32], {8, 9};\n"
                          "{ .reg .b32 %a0; mov.u32 %a0, 3; st.global.u32 [%out+40], %a0; }\n"
                          "st.global.u32 [%out+44], %a0;\n"
                          "mov.u32 %a1, WARP_SZ;\nst.global.u32 [%out+48], %a1;\n"),
                 13);
  CHECK(seen == Numbers{31, 15, 5, 0xFFFFFFFE, 7, one, one, one, 8, 9, 3, one, 32});
}

TEST_CASE("paper: variables have their contents, and addresses of each other") {
  const std::string variables =
      ".visible .global .align 4 .u32 counts[4] = {1, 2, 3};\n"
      ".const .align 8 .f64 half = 0d3FE0000000000000;\n"
      ".global .align 8 .u64 where[2] = {counts, generic(counts)+8};\n"
      ".global .align 4 .b8 bytes[4] = {1, 0, 0, 2};\n";
  const Numbers seen = written_by(
      variables + kernel_k("ld.global.u32 %a0, [counts+4];\nst.global.u32 [%out], %a0;\n"
                           "ld.global.u32 %a0, [counts+12];\nst.global.u32 [%out+4], %a0;\n"
                           "ld.const.f64 %b0, [half];\ncvt.rzi.u32.f64 %a0, %b0;\n"
                           "cvt.rn.f32.f64 %a1, %b0;\nst.global.u32 [%out+8], %a1;\n"
                           "ld.global.u64 %b1, [where+8];\nld.u32 %a0, [%b1];\n"
                           "st.global.u32 [%out+12], %a0;\n"
                           "ld.global.u32 %a0, [bytes];\nst.global.u32 [%out+16], %a0;\n"),
      5);
  CHECK(seen == Numbers{2, 0, std::bit_cast<std::uint32_t>(0.5F), 3, 0x02000001});
}

TEST_CASE("paper: an address of what is not there is an error of the module") {
  CHECK(ptx::decode(head + ".global .u64 where = f;\n").error ==
        "'where' holds the address of 'f', which is no variable");
}

TEST_CASE("paper: dynamic shared memory begins behind the static, and is as large as the launch") {
  const std::string text =
      ".extern .shared .align 16 .b8 more[];\n" +
      kernel_k(
          ".shared .align 4 .b8 fixed[20];\nmov.u32 %a0, %tid.x;\nsetp.ne.u32 %p, %a0, 0;\n"
          "@%p exit;\nmov.u32 %a1, fixed;\nmov.u32 %a2, more;\nsub.s32 %a3, %a2, %a1;\n"
          "st.global.u32 [%out], %a3;\nst.shared.u32 [%a2+60], 5;\n"
          "ld.shared.u32 %a4, [%a2+60];\nst.global.u32 [%out+4], %a4;\n");
  CHECK(written_by(text, 2, 64) == Numbers{32, 5});
}

TEST_CASE("paper: of a module, only the kernels that are asked for are decoded, and they stay") {
  const std::string text = head + kernel_k("// a comment with a }\n/* and { two { */\n") +
                           ".visible .entry other()\n{\nno.such;\n}\n";
  ptx::Decoder decoder(text);
  CHECK(decoder.module().error == "");
  CHECK(decoder.names_of_kernels() == std::vector<std::string>{"k", "other"});
  CHECK(decoder.module().kernels.empty());
  const ptx::Kernel* const k = decoder.kernel("k");
  REQUIRE(k != nullptr);
  CHECK(k->refusal == "");
  CHECK(decoder.module().kernels.size() == 1);
  REQUIRE(decoder.kernel("other") != nullptr);
  CHECK_THAT(decoder.kernel("other")->refusal,
             lockstep::test::contains("'no.such' in 'other' is not known to paper, at line 16"));
  CHECK(decoder.kernel("k") == k);
  CHECK(decoder.kernel("none") == nullptr);
  CHECK(ptx::Decoder(head + ".visible .entry k()\n{\n{\nret;\n}\n").module().error != "");
}

TEST_CASE("paper: functions are called from several places, but not by themselves") {
  const std::string add =
      ".func (.param .b32 r) add(.param .b32 x, .param .b32 y)\n{\n.reg .b32 %f<3>;\n"
      "ld.param.u32 %f0, [x];\nld.param.u32 %f1, [y];\nadd.s32 %f2, %f0, %f1;\n"
      "st.param.b32 [r], %f2;\nret;\n}\n";
  const auto call = [](const std::string& function, const std::string& a, const std::string& b) {
    return "{\n.param .b32 q0;\n.param .b32 q1;\n.param .b32 q2;\nst.param.b32 [q0], " + a +
           ";\nst.param.b32 [q1], " + b + ";\ncall.uni (q2), " + function +
           ", (q0, q1);\nld.param.b32 %a0, [q2];\n}\n";
  };
  const std::string twice = add + kernel_k(call("add", "5", "6") + call("add", "%a0", "%a0") +
                                           "st.global.u32 [%out], %a0;\n");
  CHECK(written_by(twice, 1) == Numbers{22});
  const std::string endless =
      ".func (.param .b32 r) again(.param .b32 x, .param .b32 y)\n{\n.reg .b32 %a<2>;\n" +
      call("again", "1", "2") + "ret;\n}\n" + kernel_k(call("again", "1", "2"));
  const ptx::Module module = ptx::decode(head + endless);
  CHECK(module.kernels.at("k").refusal.find("calls go too deep, or 'again' calls itself") == 0);
}

TEST_CASE("paper: a kernel keeps to its launch bounds, and its arguments are laid out as in C") {
  const std::string text =
      head +
      ".visible .entry k(.param .u8 a, .param .u64 b, .param .u16 c,\n"
      ".param .align 16 .b8 d[20], .param .u32 e)\n.maxntid 64, 1, 1\n{\nret;\n}\n";
  PaperDevice desk(text);
  std::vector<std::size_t> offsets;
  for (const ptx::Parameter& parameter : desk.module.kernels.at("k").parameters)
    offsets.push_back(parameter.offset);
  CHECK(offsets == std::vector<std::size_t>{0, 8, 16, 32, 52});
  CHECK(desk.module.kernels.at("k").parameter_bytes == 56);
  CHECK(desk.launch("k", {1, 1, 1}, {64, 1, 1}, 0) == Outcome::done);
  CHECK(desk.launch("k", {1, 1, 1}, {65, 1, 1}, 0) == Outcome::invalid_configuration);
  CHECK(desk.findings.report() ==
        "limit in k, block (0,0,0), thread (0,0,0): a block of 65 threads of a kernel with "
        "__launch_bounds__(64)\n");
}

}  // namespace
}  // namespace lockstep::paper::test
