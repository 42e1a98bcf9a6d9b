// The same samples, summed in another order: equal up to rounding, and no further.
#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "lessons/myth.hpp"

using namespace lockstep;

namespace {

// A layer's gradient: for each sample what comes back times what went in, averaged.
Tensor gradient_of(int first, int count, Device& device) {
  std::vector<double> inputs, errors;
  for (int i = 32 * first; i < 32 * (first + count); ++i) {
    inputs.push_back(random_uniform(1, static_cast<std::uint64_t>(i)) - 0.5);
    errors.push_back(random_uniform(2, static_cast<std::uint64_t>(i)) - 0.5);
  }
  const Tensor x = from_values(inputs, {count, 32}, DType::float32, device);
  const Tensor e = from_values(errors, {count, 32}, DType::float32, device);
  const Tensor sum = ops::matmul(e, ops::Transpose::yes, x, ops::Transpose::no);
  sum.scale_(1.0 / count);
  return sum.view({-1});
}

}  // namespace

int main() {
  myth::claim("Two ranks of 32 are the same as one of 64, deterministically.");
  CpuDevice cpu;
  const Tensor alone = gradient_of(0, 64, cpu), together = alone.clone();
  myth::on_ranks(2, [&](comm::ProcessGroup& group, Device& device) {
    const Tensor mine = gradient_of(32 * group.rank(), 32, device);
    group.all_reduce(mine, ReduceOp::average);
    together.copy_(mine);
  });
  int others = 0;
  double worst = 0;
  for (std::int64_t i = 0; i < alone.numel(); ++i) {
    others += together.item(i) != alone.item(i);
    worst = std::max(worst, std::abs(together.item(i) - alone.item(i)));
  }
  std::cout << others << " of " << alone.numel() << " elements differ, by at most " << worst
            << "\n";
  return myth::refuted_if(others > 100 && worst < 1e-6,
                          "The two are equal up to rounding: a sum in another order has other "
                          "last bits.");
}
