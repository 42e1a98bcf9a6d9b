#include "grader/parts/10_compression/quantize_int8/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::quantize_int8 {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// The largest magnitude in [begin, end); NaN where one is not finite.
double largest_in(const Numbers& values, std::int64_t begin, std::int64_t end) {
  double largest = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double value = values[static_cast<std::size_t>(i)];
    if (!std::isfinite(value)) return not_a_number;
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

double scale_at(const Numbers& values, const Chunks& chunks, std::int64_t i) {
  const auto [begin, end] = chunks.around(i);
  const double largest = largest_in(values, begin, end);
  return std::isnan(largest) ? not_a_number : std::max(largest / 127, 0x1p-126);
}

// Each element as it travels: the nearest multiple of its scale.
Numbers decoded(const Numbers& values, const Chunks& chunks) {
  Numbers made;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double scale = scale_at(values, chunks, static_cast<std::int64_t>(k));
    made.push_back(std::clamp(std::nearbyint(values[k] / scale), -127.0, 127.0) * scale);
  }
  return made;
}

Numbers sum_of(const std::vector<Numbers>& all) {
  Numbers sum(all.front().size());
  for (const Numbers& one : all) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}

}  // namespace

Numbers nearest_multiples(const std::vector<Numbers>& gradients, const Chunks& chunks) {
  return decoded(sum_of_decoded(gradients, chunks), chunks);
}

Numbers sum_of_decoded(const std::vector<Numbers>& gradients, const Chunks& chunks) {
  std::vector<Numbers> arrived;
  for (const Numbers& mine : gradients) arrived.push_back(decoded(mine, chunks));
  return sum_of(arrived);
}

Numbers own_part_as_it_is(const std::vector<Numbers>& gradients, const Chunks& chunks) {
  Numbers sum = sum_of_decoded(gradients, chunks);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const Numbers& own = gradients[i / static_cast<std::size_t>(chunks.part())];
    sum[i] += own[i] - decoded(own, chunks)[i];
  }
  return decoded(sum, chunks);
}

std::vector<Mistake<Numbers>> mistakes_of_sum(const LossySeen& seen, std::size_t call,
                                              const Numbers& sum) {
  std::vector<Mistake<Numbers>> usual;
  if (seen.ranks() == 1 || sum.empty()) return usual;
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
