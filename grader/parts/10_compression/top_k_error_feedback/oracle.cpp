#include "grader/parts/10_compression/top_k_error_feedback/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "grader/judge/compare.hpp"

namespace lockstep::grader::top_k_error_feedback {
namespace {

Numbers in_type(DType dtype, const Numbers& values) {
  return as_doubles(dtype, to_bytes(dtype, values));
}

double magnitude(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::fabs(value);
}

// For each place, true if its entry is among the k largest, of equal ones those at lower places.
std::vector<bool> largest(const Numbers& values, std::int64_t k) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return magnitude(values[a]) > magnitude(values[b]);
  });
  std::vector<bool> travels(values.size());
  for (std::int64_t j = 0; j < k; ++j) travels[order[static_cast<std::size_t>(j)]] = true;
  return travels;
}

Numbers only(const Numbers& values, const std::vector<bool>& travels) {
  Numbers kept(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) kept[i] = travels[i] ? values[i] : 0;
  return kept;
}
Numbers without(const Numbers& values, const std::vector<bool>& travels) {
  Numbers left(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) left[i] = travels[i] ? 0 : values[i];
  return left;
}
Numbers scaled(Numbers values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}
Numbers added(Numbers one, const Numbers& other) {
  for (std::size_t i = 0; i < one.size(); ++i) one[i] += other[i];
  return one;
}

// Gradient plus residual, of every rank.
std::vector<Numbers> waiting_in(const LossySeen& seen, std::size_t call, DType dtype) {
  std::vector<Numbers> waiting;
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    const Numbers& mine = seen.gradients[call][static_cast<std::size_t>(rank)];
    waiting.push_back(in_type(dtype, added(mine, seen.state_before(call, rank))));
  }
  return waiting;
}

// The mean of what a function makes of each rank's numbers.
Numbers mean_of(const std::vector<Numbers>& all, const auto& sent_of) {
  Numbers mean(all.front().size());
  for (const Numbers& one : all) {
    mean = added(mean, scaled(sent_of(one), 1 / static_cast<double>(all.size())));
  }
  return mean;
}

}  // namespace

std::int64_t entries_of(std::int64_t count, double fraction) {
  if (count == 0) return 0;
  return std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(count)), 1, count);
}

Right right_mean(const LossySeen& seen, std::size_t call, const Sparsity& asked) {
  const std::vector<Numbers> waiting = waiting_in(seen, call, asked.dtype);
  const std::int64_t k = entries_of(std::ssize(waiting.front()), asked.fraction);
  const auto sent_of = [k](const Numbers& one) { return only(one, largest(one, k)); };
  Right right{.name = k == 1 ? "the mean of each rank's largest entry"
                             : text("the mean of each rank's ", k, " largest entries"),
              .values = mean_of(waiting, sent_of)};
  // A share rounds 1/N and a product, and N-1 additions round once each; below the smallest normal
  // float32, a product rounds by half of 2^-149.
  right.tolerance = mean_of(waiting, [&](const Numbers& one) {
    Numbers sizes = sent_of(one);
    for (double& size : sizes) {
      const bool rounds = std::isfinite(size) && size != 0;
      const double digits = (seen.ranks() + 2) * epsilon_of(asked.dtype) * std::fabs(size);
      size = rounds ? digits + 0x1p-149 : 0;
    }
    return sizes;
  });
  right.allowed = text("sums of ", name_of(asked.dtype), " round");
  right.mistakes = mistakes_of_mean(seen, call, right.values);
  right.not_finite = overflowing_sum(right.values, seen.ranks(), asked.dtype);
  right.otherwise = {
      "other_entries",
      "in every call anew, the k entries of gradient plus residual with the largest "
      "|x| travel: compare |x| itself, since x² overflows or becomes 0; a larger one "
      "goes before all smaller ones, and the lower place decides of equal ones "
      "alone"};
  return right;
}

Right right_residual(const LossySeen& seen, std::size_t call, int rank, const Sparsity& asked) {
  const Numbers mine = waiting_in(seen, call, asked.dtype)[static_cast<std::size_t>(rank)];
  const std::int64_t k = entries_of(std::ssize(mine), asked.fraction);
  return {.name = "gradient plus residual, with zeros where an entry travels,",
          .values = without(mine, largest(mine, k)),
          .otherwise = {"other_residual",
                        "on each rank, it must hold what this rank has not sent: gradient plus "
                        "residual, and exactly zero where an entry travels"}};
}

}  // namespace lockstep::grader::top_k_error_feedback
