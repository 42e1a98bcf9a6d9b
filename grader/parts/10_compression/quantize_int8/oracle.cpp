#include "grader/parts/10_compression/quantize_int8/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::quantize_int8 {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

enum class Largest : std::uint8_t { magnitude, value };

// The largest magnitude in [begin, end), or the largest value above 0; NaN where one is not finite.
double largest_in(const Numbers& values, std::int64_t begin, std::int64_t end,
                  Largest of = Largest::magnitude) {
  double largest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = values[static_cast<std::size_t>(i)];
    if (!std::isfinite(value)) return not_a_number;
    largest = std::max(largest, of == Largest::magnitude ? std::fabs(value) : value);
  }
  return largest;
}

double scale_at(const Numbers& values, const Chunks& chunks, std::int64_t i) {
  const auto [begin, end] = chunks.around(i);
  const double largest = largest_in(values, begin, end);
  return std::isnan(largest) ? not_a_number : std::max(largest / 127, 0x1p-126);
}

// How somebody quantises.
enum class Rounding : std::uint8_t { nearest, toward_zero };
enum class Scope : std::uint8_t { chunk, part, tensor };  // what shares a scale
enum class Overflow : std::uint8_t { clamps, wraps };
struct Quantizer {
  Rounding rounding = Rounding::nearest;
  Scope scope = Scope::chunk;
  double top = 127;  // the code of the largest magnitude
  Overflow overflow = Overflow::clamps;
  double least = 0x1p-126;  // no scale is smaller; 0: a float32 may be subnormal
  Largest largest = Largest::magnitude;
};

double wrapped(double code) {
  return static_cast<double>(static_cast<std::int8_t>(static_cast<std::int64_t>(code)));
}

struct Coded {
  Numbers codes, scales;  // of each element
};

Coded coded(const Numbers& values, const Chunks& chunks, const Quantizer& quantizer) {
  Coded made{Numbers(values.size()), Numbers(values.size())};
  Chunks shared = chunks;
  if (quantizer.scope == Scope::part) shared.chunk = std::max<std::int64_t>(chunks.part(), 1);
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto [begin, end] = shared.around(static_cast<std::int64_t>(k));
    if (quantizer.scope == Scope::tensor) begin = 0, end = std::ssize(values);
    const double largest = largest_in(values, begin, end, quantizer.largest);
    double scale = std::max(largest / quantizer.top, quantizer.least);
    if (scale < 0x1p-126) scale = static_cast<float>(scale);
    const double quotient = scale == 0 ? 0 : values[k] / scale;
    const double code =
        quantizer.rounding == Rounding::nearest ? std::nearbyint(quotient) : std::trunc(quotient);
    made.codes[k] =
        quantizer.overflow == Overflow::wraps ? wrapped(code) : std::clamp(code, -127.0, 127.0);
    made.scales[k] = scale;
  }
  return made;
}

Numbers decoded(const Coded& coded) {
  Numbers values = coded.codes;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= coded.scales[i];
  return values;
}

Numbers sum_of(const std::vector<Numbers>& all) {
  Numbers sum(all.front().size());
  for (const Numbers& one : all) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}

// Both exchanges, each quantised in the same way.
Numbers travelled(const std::vector<Numbers>& gradients, const Chunks& chunks,
                  const Quantizer& quantizer) {
  std::vector<Numbers> arrived;
  for (const Numbers& mine : gradients) arrived.push_back(decoded(coded(mine, chunks, quantizer)));
  Quantizer second = quantizer;
  if (quantizer.scope == Scope::tensor)
    second.scope = Scope::part;  // a rank knows its part of the sum
  return decoded(coded(sum_of(arrived), chunks, second));
}

// The sum of the codes, taken for multiples of one rank's scales.
Numbers of_one_scale(const std::vector<Coded>& all, const Chunks& chunks, std::size_t rank,
                     Overflow overflow) {
  std::vector<Numbers> codes;
  for (const Coded& one : all) codes.push_back(one.codes);
  Numbers sum = sum_of(codes);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (overflow == Overflow::wraps) sum[i] = wrapped(sum[i]);
    sum[i] *= all[rank].scales[i];
  }
  return decoded(coded(sum, chunks, {}));
}

// NaN where a chunk of zeros is divided by its largest magnitude.
Numbers divided_by_zero(const std::vector<Numbers>& gradients, const Chunks& chunks,
                        const Numbers& sum) {
  Numbers values = sum;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto [begin, end] = chunks.around(static_cast<std::int64_t>(k));
    const auto is_zero = [&](const Numbers& mine) { return largest_in(mine, begin, end) == 0; };
    if (std::ranges::any_of(gradients, is_zero) || is_zero(sum)) values[k] = not_a_number;
  }
  return values;
}

}  // namespace

Numbers nearest_multiples(const std::vector<Numbers>& gradients, const Chunks& chunks) {
  return travelled(gradients, chunks, {});
}

Numbers sum_of_decoded(const std::vector<Numbers>& gradients, const Chunks& chunks) {
  std::vector<Numbers> arrived;
  for (const Numbers& mine : gradients) arrived.push_back(decoded(coded(mine, chunks, {})));
  return sum_of(arrived);
}

std::vector<Mistake<Numbers>> mistakes_of_codes(const std::vector<Numbers>& gradients,
                                                const Chunks& chunks) {
  std::vector<Mistake<Numbers>> usual{
      {{"truncated",
        "codes are cut off toward zero; the contract takes the nearest multiple of the scale"},
       travelled(gradients, chunks, {.rounding = Rounding::toward_zero})},
      {{"one_scale_for_a_part",
        "one scale for a whole part: an outlier makes every step of it coarse; each chunk has its "
        "own"},
       travelled(gradients, chunks, {.scope = Scope::part})},
      {{"one_scale_for_all",
        "one scale for the whole tensor: an outlier anywhere makes every step coarse; each chunk "
        "has its own"},
       travelled(gradients, chunks, {.scope = Scope::tensor})},
      {{"largest_value",
        "the scale is the largest value of a chunk divided by 127; it takes the largest magnitude, "
        "or what is further below 0 is clamped"},
       travelled(gradients, chunks, {.largest = Largest::value})},
      {{"scale_of_128",
        "the scale is the largest magnitude divided by 128, so that this element's code does not "
        "fit and is cut to 127; divide by 127"},
       travelled(gradients, chunks, {.top = 128})},
      {{"code_wraps",
        "a code of 128 does not fit 8 bits and became -128, so that the largest elements change "
        "their sign; divide by 127"},
       travelled(gradients, chunks, {.top = 128, .overflow = Overflow::wraps})},
      {{"scale_below_normal",
        "a scale is below 2^-126: where all elements are tiny, the largest of them divided by 127 "
        "is below the smallest normal float32, and has lost digits; such a chunk has the scale "
        "2^-126"},
       travelled(gradients, chunks, {.least = 0})},
      {{"not_quantised",
        "it is the exact sum: the elements were not rounded to codes, or not brought back"},
       sum_of(gradients)}};
  const Numbers spoiled = divided_by_zero(gradients, chunks, sum_of(gradients));
  if (std::ranges::any_of(spoiled, [](double value) { return std::isnan(value); })) {
    usual.push_back({{"divided_by_zero",
                      "a chunk of zeros became NaN: its largest magnitude is 0, and 0 / 0 is NaN; "
                      "give it a scale that is not 0"},
                     spoiled});
  }
  std::vector<Coded> all;
  for (const Numbers& mine : gradients) all.push_back(coded(mine, chunks, {}));
  for (std::size_t rank = 0; rank < all.size() && all.size() > 1; ++rank) {
    usual.push_back(
        {{"one_ranks_scale",
          text("the codes of all ranks were added, and the sum taken for multiples of rank ", rank,
               "'s scale; each rank has its own: decode before you add")},
         of_one_scale(all, chunks, rank, Overflow::clamps)});
    usual.push_back({{"codes_overflow",
                      "the codes were added in 8 bits, where 127 + 127 is -2; decode to float32 "
                      "before you add"},
                     of_one_scale(all, chunks, rank, Overflow::wraps)});
  }
  return usual;
}

std::vector<Mistake<Numbers>> other_orders(const std::vector<Numbers>& gradients,
                                           const Chunks& chunks) {
  std::vector<Numbers> arrived;
  for (const Numbers& mine : gradients) arrived.push_back(decoded(coded(mine, chunks, {})));
  std::vector<std::size_t> order(arrived.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Mistake<Numbers>> all;
  while (std::ranges::next_permutation(order).found) {
    Numbers sum(gradients.front().size());
    for (const std::size_t rank : order) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = static_cast<float>(sum[i] + arrived[rank][i]);
      }
    }
    all.push_back({{"other_order",
                    "the versions of a part are added in another order than that of ranks: "
                    "float32 rounds each sum, so the order decides the bits"},
                   decoded(coded(sum, chunks, {}))});
  }
  return all;
}

std::vector<Mistake<Numbers>> mistakes_of_sum(const LossySeen& seen, std::size_t call,
                                              const Numbers& sum) {
  std::vector<Mistake<Numbers>> usual;
  const double n = seen.ranks();
  if (n == 1 || sum.empty()) return usual;
  Numbers mean = sum;
  for (double& value : mean) value /= n;
  usual.push_back({{"averaged",
                    "it is the mean: the contract asks for the sum, and whoever wants a mean "
                    "multiplies by 1/N before"},
                   mean});
  for (std::size_t r = 0; r < seen.gradients[call].size(); ++r) {
    usual.push_back({{"not_reduced", text("it is rank ", r,
                                          "'s own tensor: nothing was added to it, or the result "
                                          "was not brought back")},
                     seen.gradients[call][r]});
  }
  if (call > 0) {
    usual.push_back(
        {{"stale", "it is the result of the call before"}, seen.results[call - 1].front()});
  }
  return usual;
}

Right right_sum(const LossySeen& seen, std::size_t call, const Chunks& chunks) {
  const auto& gradients = seen.gradients[call];
  Right right{.name = text("the sum over ", counted(seen.ranks(), "rank")),
              .values = sum_of(gradients)};
  right.mistakes = mistakes_of_sum(seen, call, right.values);
  right.allowed = "half a scale of each rank and half a scale of the sum";
  const Numbers sum = right.values;
  for (std::size_t k = 0; k < sum.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    double first = 0;
    for (const Numbers& mine : gradients) first += scale_at(mine, chunks, i) / 2;
    // The sum that is quantised differs from the true one by `first` at most, and so does its
    // largest element.
    const double second = (scale_at(sum, chunks, i) + first / 127) / 2;
    // Beside that, float32 rounds a scale, a quotient, a product and N additions, and float64 to
    // float32 once: each by 2^-24 of a value of at most 127 scales.
    const double rounding = std::ldexp(5.0 + seen.ranks(), -24) * 254 * 2 * (first + second);
    right.tolerance.push_back(first + second + rounding);
    if (!std::isnan(first)) continue;
    right.values[k] = not_a_number;
    right.tolerance[k] = 0;
  }
  return right;
}

void round_result(Right& right, DType dtype) {
  for (std::size_t i = 0; i < right.values.size(); ++i) {
    const double largest = std::fabs(right.values[i]) + right.tolerance[i];
    right.tolerance[i] += largest * epsilon_of(dtype);
  }
  right.allowed += text(", and the result is rounded to ", name_of(dtype));
}

}  // namespace lockstep::grader::quantize_int8
