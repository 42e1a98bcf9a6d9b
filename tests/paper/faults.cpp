// How planted faults are run.
#include "tests/paper/faults.hpp"

#include <numeric>
#include <sstream>

#include "tests/catch.hpp"

namespace lockstep::paper::test {

std::string kernel_of(const std::string& body) {
  std::ostringstream out;
  out << ".version 8.0\n.target sm_80\n.address_size 64\n"
      << ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n"
      << ".reg .pred %p, %q;\n.reg .b32 %tid, %ctaid, %index, %a, %b, %c, %d, %e, %f;\n"
      << ".reg .b64 %data, %other, %own, %x, %y, %z;\n"
      << ".shared .align 16 .b8 board[1024];\n.local .align 16 .b8 own[32];\n"
      << "ld.param.u64 %data, [p0];\nld.param.u64 %other, [p1];\n"
      << "mov.u32 %tid, %tid.x;\nmov.u32 %ctaid, %ctaid.x;\nmov.u32 %a, %ntid.x;\n"
      << "mad.lo.s32 %index, %ctaid, %a, %tid;\nmad.wide.u32 %own, %index, 4, %data;\n";
  std::istringstream lines(body);
  std::string line;
  for (int number = 10; std::getline(lines, line); ++number) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    out << ".loc 1 " << number << " 1\n" << line.substr(begin) << "\n";
  }
  out << "ret;\n}\n.file 1 \"faults.cu\"\n";
  return out.str();
}

Seen seen_with(const std::string& body, const Fault& fault, std::uint64_t seed) {
  Settings settings;
  settings.seed = seed;
  settings.instructions_max = 100'000;
  PaperDevice desk(kernel_of(body), settings);
  std::vector<std::uint32_t> words(128);
  std::iota(words.begin(), words.end(), 0U);
  const std::uint64_t gone = desk.upload(words), data = desk.upload(words);
  const std::uint64_t other = desk.memory.allocate(128 * 4);
  desk.memory.release(gone, desk.operation);
  const Outcome outcome = desk.launch("k", fault.grid, fault.block, 0, data, other);
  return {outcome, desk.findings.report()};
}

void check_faults(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    INFO(fault.name);
    for (const std::uint64_t seed : {1, 2, 3}) {
      INFO("seed " << seed);
      const Seen wrong = seen_with(fault.wrong, fault, seed);
      CHECK(wrong.outcome == fault.outcome);
      // Which lane is first, and how many there are, the seed decides.
      if (wrong.findings.find(fault.finding) == std::string::npos) {
        FAIL_CHECK("expected: " << fault.finding << "\nfound: " << wrong.findings);
      }
      const Seen right = seen_with(fault.right, fault, seed);
      CHECK(right.outcome == Outcome::done);
      CHECK(right.findings == "");
    }
  }
}

}  // namespace lockstep::paper::test
