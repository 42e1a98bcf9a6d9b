#include "grader/exam/collective/reduction_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader {
namespace {

// A rank's digit of a sum. It is wide enough for three times the largest value, and narrow enough
// that a double holds the digits of all ranks.
struct Digits {
  int bits;
  std::uint64_t values;  // 1 to this
};
Digits digits_of(int ranks) { return ranks <= 13 ? Digits{4, 4} : Digits{3, 2}; }

double usual(const Reduction& of, std::uint64_t bits, int rank) {
  if (!is_integer(of.dtype)) return static_cast<double>(bits >> 40) * 0x1.0p-23 - 1.0 + 0.25 * rank;
  if (of.values != Values::usual) return 1 + static_cast<double>(bits % 4);
  if (of.op == ReduceOp::sum) {
    const Digits digits = digits_of(of.ranks);
    return static_cast<double>((1 + bits % digits.values) << (digits.bits * rank));
  }
  if (of.op == ReduceOp::product) return static_cast<double>(1 + bits % 3);
  return static_cast<double>(static_cast<std::int64_t>(bits % 2001) - 1000);
}

// In every eighth place a NaN, an infinity, or two that meet; or on all ranks -0, or numbers below
// the smallest normal one.
double special(const Reduction& of, std::uint64_t bits, int rank, std::int64_t e) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double on_last[] = {std::numeric_limits<double>::quiet_NaN(),
                            infinite,
                            -infinite,
                            -infinite,
                            0,
                            0,
                            largest_of(of.dtype),
                            0};
  const auto kind = static_cast<std::size_t>(e % 8);
  if (kind == 4) return (1 + rank) * least_of(of.dtype);
  if (kind == 5) return -0.0;
  if (kind == 3 && rank == 0) return of.ranks > 1 ? infinite : -infinite;
  if (kind != 7 && rank == of.ranks - 1) return on_last[kind];
  return usual(of, bits, rank);
}

double drawn(const Reduction& of, std::uint64_t salt, int call, int rank, std::int64_t e) {
  const std::uint64_t bits =
      keyed_bits(salt, (static_cast<std::uint64_t>(e) * 32 + static_cast<std::uint64_t>(rank)) * 4 +
                           static_cast<std::uint64_t>(call));
  switch (of.values) {
    case Values::usual:
      break;
    case Values::special:
      return special(of, bits, rank, e);
    case Values::extreme:
      if (rank == 0) return e % 2 == 0 ? largest_of(of.dtype) : lowest_of(of.dtype);
      return of.op == ReduceOp::sum ? 0 : usual(of, bits, rank);
    case Values::zeros:
      if (call > 0 || rank % 2 == 0) return 0;
      break;
  }
  return usual(of, bits, rank);
}

double with_nan(double a, double b, double otherwise) {
  return std::isnan(a) ? a : std::isnan(b) ? b : otherwise;
}

}  // namespace

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
      to = with_nan(to, from, std::min(to, from));
      break;
    case ReduceOp::max:
      to = with_nan(to, from, std::max(to, from));
      break;
  }
}

double lowest_of(DType dtype) {
  return visit_dtype(dtype, []<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(std::numeric_limits<T>::lowest());
    } else {
      return 0.0;
    }
  });
}

double largest_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65'504;
    case DType::bfloat16:
      return 0x1.FEp127;
    default:
      return visit_dtype(dtype, []<typename T>() {
        if constexpr (std::is_arithmetic_v<T>) {
          return static_cast<double>(std::numeric_limits<T>::max());
        } else {
          return 0.0;
        }
      });
  }
}

double least_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-24;
    case DType::bfloat16:
      return 0x1p-133;
    case DType::float32:
      return 0x1p-149;
    case DType::float64:
      return 0x1p-1074;
    default:
      return 1;
  }
}

bool is_subnormal(DType dtype, double value) {
  if (is_integer(dtype) || value == 0) return false;
  return std::fabs(value) < least_of(dtype) / epsilon_of(dtype);
}

Bytes to_saturated_bytes(DType dtype, std::span<const double> values, std::int64_t offset) {
  if (!is_integer(dtype)) return to_bytes(dtype, values);
  Bytes bytes;
  visit_dtype(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (const double value : values) {
        // The largest int64 has no double.
        const auto whole = value >= 0x1p63 ? std::numeric_limits<std::int64_t>::max()
                                           : static_cast<std::int64_t>(value);
        const auto element =
            static_cast<T>(static_cast<std::uint64_t>(whole) + static_cast<std::uint64_t>(offset));
        const auto raw = std::as_bytes(std::span(&element, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
      }
    }
  });
  return bytes;
}

Sums draw_sums(const Reduction& of, std::uint64_t salt, int call) {
  Sums sums;
  sums.of = of;
  const auto count = static_cast<std::size_t>(of.count);
  std::vector<double> magnitude(count, 0.0);
  for (int rank = 0; rank < of.ranks; ++rank) {
    std::vector<double>& mine = sums.inputs.emplace_back(count);
    for (std::size_t e = 0; e < count; ++e) {
      mine[e] = drawn(of, salt, call, rank, static_cast<std::int64_t>(e));
    }
    if (!is_integer(of.dtype)) mine = as_doubles(of.dtype, to_bytes(of.dtype, mine));
    for (std::size_t e = 0; e < count; ++e) magnitude[e] += std::fabs(mine[e]);
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
    const double rounding = of.ranks * epsilon_of(of.dtype) * scale;
    sums.tolerance.push_back(exact || !std::isfinite(rounding) ? 0.0 : rounding);
  }
  return sums;
}

std::string provenance(const Sums& sums, std::size_t e, double seen) {
  const bool digits = is_integer(sums.of.dtype) && sums.of.values == Values::usual;
  if (!digits || sums.of.op != ReduceOp::sum || seen < 0) return {};
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
