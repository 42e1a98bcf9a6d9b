// How far the mean of N ranks' gradients is off when it is rounded to bfloat16 on the way:
//   build/release/bin/rounding N…
// Each rank's gradient is the true one plus noise as large as it. The errors are those of a sum of
// the same numbers in float64: their root mean square, over that of the mean.
#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/tensor/tensor.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t elements = 2000;

// What rank `rank` contributes: its gradient in bfloat16. The true gradient is 1 everywhere; the
// noise has a mean of 0 and a standard deviation of 1.
Tensor gradient_of(int rank, Device& device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto number = static_cast<std::uint64_t>(rank * elements + i);
    values.push_back(1 + std::sqrt(12.0) * (random_uniform(10, number) - 0.5));
  }
  return from_values(values, {elements}, DType::bfloat16, device);
}

// As a chunk travels around a ring: rank after rank adds its own.
Tensor added_in_a_ring(const std::vector<Tensor>& gradients, DType type) {
  const Tensor sum = gradients[0].to(type).clone();
  for (std::size_t r = 1; r < gradients.size(); ++r) {
    sum.reduce_(gradients[r].to(type), ReduceOp::sum);
  }
  return sum;
}

// As up a binary tree: pairs of ranks, then pairs of pairs.
Tensor added_in_a_tree(const std::vector<Tensor>& gradients, DType type) {
  std::vector<Tensor> sums;
  for (const Tensor& gradient : gradients) sums.push_back(gradient.to(type).clone());
  for (std::size_t gap = 1; gap < sums.size(); gap *= 2) {
    for (std::size_t r = 0; r + gap < sums.size(); r += 2 * gap) {
      sums[r].reduce_(sums[r + gap], ReduceOp::sum);
    }
  }
  return sums[0];
}

double percent_off(const Tensor& sum, const Tensor& exact) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    error += std::pow(sum.item(i) - exact.item(i), 2);
    size += std::pow(exact.item(i), 2);
  }
  return 100 * std::sqrt(error / size);
}

void tell(int ranks) {
  CpuDevice device;
  std::vector<Tensor> gradients;
  for (int r = 0; r < ranks; ++r) gradients.push_back(gradient_of(r, device));
  const Tensor exact = added_in_a_ring(gradients, DType::float64);
  const auto off = [&](const Tensor& sum) {
    std::cout << std::setw(12) << percent_off(sum, exact) << " %";
  };
  std::cout << std::setw(5) << ranks;
  off(added_in_a_ring(gradients, DType::bfloat16));
  off(added_in_a_tree(gradients, DType::bfloat16));
  off(added_in_a_ring(gradients, DType::float32).to(DType::bfloat16));
  std::cout << "\n";
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 2) throw UsageError("usage: rounding N…, numbers of ranks");
    std::cout << "        added in bfloat16         added in float32,\n"
              << "ranks     in a ring    in a tree  rounded at the end\n"
              << std::fixed << std::setprecision(2);
    for (int i = 1; i < count; ++i) tell(std::stoi(words[i]));
  } catch (const std::exception& error) {
    std::cerr << "rounding: " << error.what() << "\n";
    return 2;
  }
}
