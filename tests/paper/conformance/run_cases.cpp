// Cases as kernels: operands come from device memory, each in a register of its width, and results
// go there. Lanes that the guard leaves out must keep what their registers held before.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "tests/paper/conformance/case.hpp"
#include "tests/paper/paper_device.hpp"

namespace lockstep::paper::test {
namespace {

constexpr std::uint32_t grid_threads = block_threads * case_blocks;
constexpr std::uint64_t untouched = 0x5A5A5A5A5A5A5A5AULL;

std::string letter_of(const std::string& type) {
  const int bits = bits_of(type);
  return bits == 1 ? "%p" : bits <= 16 ? "%s" : bits == 32 ? "%r" : "%d";
}
std::string result_name(const Case& made, std::size_t i) {
  return letter_of(made.results[i]) + std::to_string(i);
}
std::string operand_name(const Case& made, std::size_t i) {
  return letter_of(made.operands[i]) + std::to_string(20 + i);
}

std::vector<std::string> lines_of(const Case& made) {
  if (!made.lines.empty()) return made.lines;
  std::string line = made.opcode + " ";
  for (std::size_t i = 0; i < made.results.size(); ++i)
    line += (i == 0 ? "$" : "|$") + std::to_string(i);
  for (std::size_t i = 0; i < made.operands.size(); ++i) line += ", #" + std::to_string(i);
  return {line};
}

std::string filled_in(const Case& made, const std::string& line, std::size_t number) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '$' || line[i] == '#') {
      const auto which = static_cast<std::size_t>(line[i + 1] - '0');
      text += line[i] == '$' ? result_name(made, which) : operand_name(made, which);
      ++i;
    } else if (line[i] == '~') {
      text += std::to_string(number);
    } else {
      text += line[i];
    }
  }
  return text;
}

void write_loads(std::ostream& out, const Case& made) {
  for (std::size_t i = 0; i < made.operands.size(); ++i) {
    const std::string from = ", [%in+" + std::to_string(8 * grid_threads * i) + "];\n";
    const int bits = bits_of(made.operands[i]);
    const std::string name = operand_name(made, i);
    if (bits == 1) {
      out << "ld.global.u32 %w8" << from << "setp.ne.u32 " << name << ", %w8, 0;\n";
    } else {
      out << "ld.global.b" << std::max(bits, 8) << " " << name << from;
    }
  }
  out << "ld.global.u32 %w8, [%in+" << 8 * grid_threads * made.operands.size() << "];\n"
      << "setp.ne.u32 %g, %w8, 0;\n";
}

void write_results(std::ostream& out, const Case& made, bool before) {
  for (std::size_t i = 0; i < made.results.size(); ++i) {
    const int bits = bits_of(made.results[i]);
    const std::string name = result_name(made, i);
    const std::string to = "[%out+" + std::to_string(8 * grid_threads * i) + "], ";
    const int width = bits <= 16 ? 16 : bits;
    if (before && bits == 1) {
      out << "setp.eq.u32 " << name << ", %w9, %w9;\n";
    } else if (before) {
      out << "mov.b" << width << " " << name << ", " << cut(untouched, width) << ";\n";
    } else if (bits == 1) {
      out << "selp.u32 %w8, 1, 0, " << name << ";\nst.global.u32 " << to << "%w8;\n";
    } else {
      out << "st.global.b" << bits << " " << to << name << ";\n";
    }
  }
}

void write_kernel(std::ostream& out, const Case& made, std::size_t number) {
  out << filled_in(made, made.functions, number);
  out << ".visible .entry case_" << number
      << "(.param .u64 in, .param .u64 out, .param .u64 cells, .param .align 16 .b8 blob[64])\n{\n"
      << ".reg .pred %p<40>, %q<8>, %g;\n.reg .b16 %s<40>, %h<8>;\n.reg .b32 %r<40>, %w<10>;\n"
      << ".reg .b64 %d<40>, %x<8>, %in, %out, %cell, %board;\n"
      << ".shared .align 16 .b8 board_" << number << "[" << 32 * block_threads << "];\n"
      << ".local .align 16 .b8 own_" << number << "[32];\n"
      << "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nld.param.u64 %cell, [cells];\n"
      << "mov.u32 %w8, %tid.x;\nmov.u32 %w9, %ctaid.x;\n"
      << "mad.lo.s32 %w9, %w9, " << block_threads << ", %w8;\n"
      << "mov.u64 %board, board_" << number << ";\nmad.wide.u32 %board, %w8, 32, %board;\n"
      << "mad.wide.u32 %in, %w9, 8, %in;\nmad.wide.u32 %out, %w9, 8, %out;\n"
      << "mad.wide.u32 %cell, %w9, 32, %cell;\n";
  write_loads(out, made);
  write_results(out, made, true);
  for (const std::string& line : lines_of(made)) {
    const bool bare = line.ends_with(':') || line.starts_with('@') || line.starts_with('.') ||
                      line == "{" || line == "}" || made.guard == Case::Guard::all;
    const std::string end = line.ends_with(':') || line == "{" || line == "}" ? "\n" : ";\n";
    out << (bare ? "" : "@%g ") << filled_in(made, line, number) << end;
  }
  write_results(out, made, false);
  out << "ret;\n}\n";
}

bool takes_part(const Case& made, std::uint32_t n) {
  const std::uint32_t thread = n % block_threads;
  if (thread < warp_lanes || made.guard == Case::Guard::all) return true;
  return made.guard == Case::Guard::half ? thread % warp_lanes < 16 : n * 2654435761U >> 30 != 0;
}

// How far two floats are apart, in units of the last place. (Whole numbers: a double has no digits
// for all of binary64.)
double units_apart(Format format, std::uint64_t seen, std::uint64_t wanted) {
  const auto place = [&](std::uint64_t bits) {
    const Wide rest = bits & (format.sign() - 1);
    return (bits & format.sign()) != 0 ? -rest : rest;
  };
  const Wide apart = place(seen) - place(wanted);
  return static_cast<double>(apart < 0 ? -apart : apart);
}

bool same_half(Format format, std::uint64_t seen, std::uint64_t wanted, double ulps) {
  const bool nan = unpack(format, seen).is_nan(), wanted_nan = unpack(format, wanted).is_nan();
  if (nan || wanted_nan) return nan && wanted_nan;
  // Without a tolerance the bits are the same: -0 is not +0.
  return seen == wanted || (ulps > 0 && units_apart(format, seen, wanted) <= ulps);
}

bool same(const std::string& type, std::uint64_t seen, std::uint64_t wanted, double ulps) {
  if (type.ends_with("x2")) {
    const Format format = format_of(type);
    return same_half(format, seen & 0xFFFF, wanted & 0xFFFF, ulps) &&
           same_half(format, seen >> 16, wanted >> 16, ulps);
  }
  return is_float(type) ? same_half(format_of(type), seen, wanted, ulps) : seen == wanted;
}

struct Samples {
  std::vector<Words> operands;  // by thread
  std::vector<char> active;
};
Samples samples_of(const Case& made) {
  Samples all;
  for (std::uint32_t n = 0; n < grid_threads; ++n) {
    Words words;
    for (std::size_t i = 0; i < made.operands.size(); ++i)
      words.push_back(sample(made.operands[i], n, i));
    if (made.shape) made.shape(words, n);
    all.operands.push_back(std::move(words));
    all.active.push_back(takes_part(made, n) ? 1 : 0);
  }
  return all;
}

std::vector<Words> wanted_of(const Case& made, const Samples& samples) {
  std::vector<Words> wanted(grid_threads);
  if (made.block) {
    for (std::uint32_t first = 0; first < grid_threads; first += block_threads) {
      const auto begin = samples.operands.begin() + first;
      const auto flags = samples.active.begin() + first;
      const std::vector<Words> block =
          made.block({begin, begin + block_threads}, {flags, flags + block_threads});
      std::ranges::copy(block, wanted.begin() + first);
    }
  } else {
    for (std::uint32_t n = 0; n < grid_threads; ++n) {
      if (samples.active[n]) wanted[n] = made.thread(samples.operands[n]);
    }
  }
  return wanted;
}

std::string difference(const Case& made, const Samples& samples, const Words& seen) {
  const std::vector<Words> wanted = wanted_of(made, samples);
  for (std::uint32_t n = 0; n < grid_threads; ++n) {
    for (std::size_t i = 0; i < made.results.size(); ++i) {
      const int bits = bits_of(made.results[i]);
      const std::uint64_t got = cut(seen[i * grid_threads + n], bits);
      const std::uint64_t should = cut(samples.active[n] ? wanted[n].at(i)
                                       : bits == 1       ? std::uint64_t{1}
                                                         : untouched,
                                       bits);
      const bool idle = !samples.active[n];
      const bool exact = idle || (made.same_nan && should == binary32.nan());
      if (exact ? got == should : same(made.results[i], got, should, made.ulps)) continue;
      std::ostringstream text;
      text << made.opcode << std::hex << ": result " << i << " of thread " << std::dec << n
           << (idle ? " (which takes no part)" : "") << std::hex << " is " << got << ", not "
           << should << "; operands";
      for (const std::uint64_t word : samples.operands[n]) text << " " << word;
      return text.str() + "\n";
    }
  }
  return "";
}

std::string run_one(PaperDevice& desk, const Case& made, std::size_t number) {
  const Samples samples = samples_of(made);
  Words in((made.operands.size() + 1) * grid_threads);
  for (std::uint32_t n = 0; n < grid_threads; ++n) {
    for (std::size_t i = 0; i < made.operands.size(); ++i)
      in[i * grid_threads + n] = samples.operands[n][i];
    in[made.operands.size() * grid_threads + n] = static_cast<std::uint64_t>(samples.active[n]);
  }
  const std::uint64_t from = desk.upload(in);
  const std::uint64_t to = desk.upload(Words(made.results.size() * grid_threads + 1));
  const std::uint64_t cells = desk.memory.allocate(std::size_t{32} * grid_threads);
  std::array<std::uint8_t, 64> blob{};
  for (std::size_t i = 0; i < blob.size(); ++i) blob[i] = static_cast<std::uint8_t>(37 * i + 131);
  const Outcome outcome = desk.launch("case_" + std::to_string(number), {case_blocks, 1, 1},
                                      {block_threads, 1, 1}, 0, from, to, cells, blob);
  std::string text;
  if (outcome != Outcome::done || desk.findings.size() != 0) {
    text = made.opcode + ": " + desk.findings.report();
    desk.findings.clear();
  } else {
    text = difference(
        made, samples,
        desk.download<std::uint64_t>(to, in.size() > 0 ? made.results.size() * grid_threads : 0));
  }
  for (const std::uint64_t address : {from, to, cells})
    desk.memory.release(address, desk.operation);
  return text;
}

}  // namespace

std::string module_of(const std::vector<Case>& cases) {
  std::ostringstream out;
  out << ".version 8.0\n.target sm_80\n.address_size 64\n"
      << ".const .align 16 .b8 sheet[64] = {";
  for (int i = 0; i < 64; ++i) out << (i == 0 ? "" : ", ") << (37 * i + 131) % 256;
  out << "};\n";
  for (std::size_t i = 0; i < cases.size(); ++i) write_kernel(out, cases[i], i);
  return out.str();
}

std::string run_cases(const std::vector<Case>& cases) {
  constexpr std::size_t together = 200;  // in a module
  std::string text;
  for (std::size_t first = 0; first < cases.size(); first += together) {
    const auto begin = cases.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<Case> some(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(together, cases.size() - first)));
    PaperDevice desk(module_of(some));
    for (std::size_t i = 0; i < some.size(); ++i) text += run_one(desk, some[i], i);
  }
  return text;
}

}  // namespace lockstep::paper::test
