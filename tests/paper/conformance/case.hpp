// What one entry of the machine's table must do: a line of PTX on samples of its operands, and what
// comes out of it by the words of the PTX manual, computed here anew.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paper/conformance/exact.hpp"

namespace lockstep::paper::test {

using Words = std::vector<std::uint64_t>;  // of one thread: a value each, in the low bits

inline constexpr std::uint32_t block_threads = 64, case_blocks = 4;

// "mad.lo.cc.u32" in parts.
struct Opcode {
  explicit Opcode(std::string_view opcode);
  std::string text;
  std::vector<std::string> parts;
  const std::string& name() const { return parts.front(); }
  const std::string& type() const { return parts.back(); }
  bool has(std::string_view part) const;
  Mode mode() const;  // of .rn, .rzi and so on; to nearest where none is named
};

// Bits of a type: "u32" has 32, "f16x2" 32, "pred" 1.
int bits_of(const std::string& type);
std::uint64_t cut(std::uint64_t value, int bits);
Wide number_of(const std::string& type, std::uint64_t bits);  // by the sign of s32 and so on
Format format_of(const std::string& type);                    // of f16, bf16, f32, f64
bool is_float(const std::string& type);

struct Case {
  std::string opcode;
  std::vector<std::string> results, operands;  // their types
  // $0 is a result, #0 an operand. Left empty: the opcode, the results, the operands. Free for use:
  // %x0..7 (64 bits), %w0..7 (32), %h0..7 (16), %q0..7 (predicates); %cell, 32 bytes of device
  // memory for each thread; %board, 32 bytes of shared memory for each; %w9, the thread's number.
  std::vector<std::string> lines;
  std::string functions;  // that the lines call; ~ in them and in lines is the kernel's number
  // Threads of the second warp that take part: some, all, or the lower half.
  enum class Guard { some, all, half } guard = Guard::some;
  std::function<Words(const Words&)> thread;  // a thread's results
  // Where threads work together: a block's results; those of lanes that do not take part are
  // ignored.
  std::function<std::vector<Words>(const std::vector<Words>&, const std::vector<char>&)> block;
  std::function<void(Words&, std::uint32_t)> shape;  // sets operands of thread n of the grid
  double ulps = 0;                                   // by which an approximation may differ
  bool same_nan = false;                             // a NaN's bits count, too
};

// A case of one line.
Case plain_case(const Opcode& opcode, std::vector<std::string> results,
                std::vector<std::string> operands, std::function<Words(const Words&)> thread);

// Empty where the family does not know the opcode.
std::vector<Case> integer_cases(const Opcode& opcode);
std::vector<Case> carry_cases(const Opcode& opcode);
std::vector<Case> bit_cases(const Opcode& opcode);
std::vector<Case> choice_cases(const Opcode& opcode);  // comparisons, selections, moves
std::vector<Case> float_cases(const Opcode& opcode);
std::vector<Case> approximation_cases(const Opcode& opcode);
std::vector<Case> conversion_cases(const Opcode& opcode);
std::vector<Case> access_cases(const Opcode& opcode);
std::vector<Case> atomic_cases(const Opcode& opcode);
std::vector<Case> warp_cases(const Opcode& opcode);
std::vector<Case> control_cases(const Opcode& opcode);
std::vector<Case> cases_of(const std::string& opcode);  // of the family that knows it

// The value of a type for thread n: corners more often than not.
std::uint64_t sample(const std::string& type, std::uint32_t n, std::size_t operand);

// A module of PTX that holds the cases as kernels case_0, case_1, ...
std::string module_of(const std::vector<Case>& cases);
// Runs them; returns what differs, a line each, empty where nothing does.
std::string run_cases(const std::vector<Case>& cases);

}  // namespace lockstep::paper::test
