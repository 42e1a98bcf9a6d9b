// One case of hooks_of_torch.py on simulated ranks: reads it from standard input, prints what each
// pass leaves in the bucket.
//   hook ranks passes rank rows columns rest
//   powersgd: Q [columns, rank]; then of each pass and rank: a matrix [rows, columns] and the rest
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/parallel/compress/cast.hpp"
#include "engine/parallel/compress/power_sgd.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;

namespace {

struct TorchCase {
  std::string hook;
  int ranks = 0, passes = 0;
  std::int64_t rank = 0, rows = 0, columns = 0, rest = 0;
  std::vector<double> q, gradients;
  std::int64_t count() const { return rows * columns + rest; }
};

std::vector<double> read_numbers(std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) std::cin >> number;
  return numbers;
}

TorchCase read_case() {
  TorchCase one;
  std::cin >> one.hook >> one.ranks >> one.passes >> one.rank >> one.rows >> one.columns >>
      one.rest;
  if (one.hook == "powersgd") one.q = read_numbers(one.columns * one.rank);
  one.gradients = read_numbers(one.count() * one.ranks * one.passes);
  if (!std::cin) throw Error("the case on standard input ends too early");
  return one;
}

Tensor part_of(const std::vector<double>& numbers, std::int64_t at, std::int64_t count,
               Device& device) {
  const std::span all(numbers);
  return from_values(all.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)),
                     {count}, DType::float32, device);
}

void run_rank(const TorchCase& one, comm::ProcessGroup& group) {
  CpuDevice device;
  compress::LowRankState state;
  if (one.hook == "powersgd") {
    state = {zeros({one.count()}, DType::float32, device),
             part_of(one.q, 0, std::ssize(one.q), device)};
  }
  for (int pass = 0; pass < one.passes; ++pass) {
    const std::int64_t at = (pass * one.ranks + group.rank()) * one.count();
    const Tensor flat = part_of(one.gradients, at, one.count(), device);
    const std::int64_t matrix = one.rows * one.columns;
    const collectives::GradientBucket bucket{
        .index = 0,
        .last = true,
        .flat = flat,
        .gradients = {flat.narrow(0, matrix).view({one.rows, one.columns}),
                      flat.narrow(matrix, one.rest)}};
    if (one.hook == "powersgd") {
      compress::power_sgd_reduce(group, bucket, state, {.rank = one.rank}, pass).wait();
    } else {
      const DType half = one.hook == "fp16" ? DType::float16 : DType::bfloat16;
      compress::cast_reduce(group, flat, half).wait();
    }
    if (group.rank() != 0) continue;
    for (const float value : flat.data<float>()) std::cout << std::setprecision(9) << value << "\n";
  }
}

}  // namespace

int main() {
  try {
    const TorchCase one = read_case();
    test::on_fibers(one.ranks, [&](comm::ProcessGroup& group) { run_rank(one, group); });
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
