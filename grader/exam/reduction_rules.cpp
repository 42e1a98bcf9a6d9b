#include "grader/exam/reduction_rules.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// A rank's digit of a sum. It is wide enough for three times the largest value, and narrow enough
// that a double holds the digits of all ranks.
struct Digits {
  int bits;
  std::uint64_t values;  // 1 to this
};
Digits digits_of(int ranks) { return ranks <= 13 ? Digits{4, 4} : Digits{3, 2}; }

double drawn(const Reduction& of, std::uint64_t salt, int call, int rank, std::int64_t e) {
  const std::uint64_t bits = random_bits(
      salt, (static_cast<std::uint64_t>(e) * 32 + static_cast<std::uint64_t>(rank)) * 4 +
                static_cast<std::uint64_t>(call));
  if (!is_integer(of.dtype)) {
    const double value = static_cast<double>(bits >> 40) * 0x1.0p-23 - 1.0 + 0.25 * rank;
    return of.dtype == DType::float32 ? static_cast<double>(static_cast<float>(value)) : value;
  }
  if (of.op == ReduceOp::sum) {
    const Digits digits = digits_of(of.ranks);
    return static_cast<double>((1 + bits % digits.values) << (digits.bits * rank));
  }
  if (of.op == ReduceOp::product) return static_cast<double>(1 + bits % 3);
  return static_cast<double>(static_cast<std::int64_t>(bits % 2001) - 1000);
}

void reduce_into(double& to, double from, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      to += from;
      break;
    case ReduceOp::product:
      to *= from;
      break;
    case ReduceOp::min:
      to = std::min(to, from);
      break;
    case ReduceOp::max:
      to = std::max(to, from);
      break;
  }
}

}  // namespace

Sums draw_sums(const Reduction& of, std::uint64_t salt, int call) {
  Sums sums;
  sums.of = of;
  const auto count = static_cast<std::size_t>(of.count);
  std::vector<double> magnitude(count, 0.0);
  for (int rank = 0; rank < of.ranks; ++rank) {
    std::vector<double>& mine = sums.inputs.emplace_back(count);
    for (std::size_t e = 0; e < count; ++e) {
      mine[e] = drawn(of, salt, call, rank, static_cast<std::int64_t>(e));
      magnitude[e] += std::fabs(mine[e]);
    }
  }
  sums.expected = sums.inputs.front();
  for (std::size_t rank = 1; rank < sums.inputs.size(); ++rank) {
    for (std::size_t e = 0; e < count; ++e) {
      reduce_into(sums.expected[e], sums.inputs[rank][e], of.op);
    }
  }
  // N-1 additions in any order err by at most (N-1)·eps·Σ|x|; products of N factors of size ≤ 3.75
  // by N·eps of the result. Integers, min and max are exact.
  for (std::size_t e = 0; e < count; ++e) {
    const double scale = of.op == ReduceOp::product ? std::fabs(sums.expected[e]) : magnitude[e];
    const bool exact = of.op == ReduceOp::min || of.op == ReduceOp::max;
    sums.tolerance.push_back(exact ? 0.0 : of.ranks * epsilon_of(of.dtype) * scale);
  }
  return sums;
}

std::string provenance(const Sums& sums, std::size_t e, double seen) {
  if (!is_integer(sums.of.dtype) || sums.of.op != ReduceOp::sum || seen < 0) return {};
  const int bits = digits_of(sums.of.ranks).bits;
  auto rest = static_cast<std::uint64_t>(seen);
  std::string story;
  for (int rank = 0; rank < sums.of.ranks; ++rank) {
    const auto digit = rest & ((std::uint64_t{1} << bits) - 1);
    const auto own =
        static_cast<std::uint64_t>(sums.inputs[static_cast<std::size_t>(rank)][e]) >> (bits * rank);
    rest >>= bits;
    if (digit % own != 0) return {};
    if (digit == own) continue;
    story += text(story.empty() ? "" : ", ", "rank ", rank, "'s value ");
    story += digit == 0 ? "is missing" : text("is added ", digit / own, " times");
  }
  return rest == 0 ? story : std::string{};
}

}  // namespace lockstep::grader
