// Two partial results of a softmax become one, by the part and by the kernel.
#include <cmath>
#include <limits>
#include <vector>

#include "engine/parallel/sequence/absorb.hpp"
#include "engine/parallel/sequence/online_softmax.hpp"
#include "engine/tensor/merge_attention.hpp"
#include "tests/sequence_parallel/shared.hpp"

using namespace lockstep;
using namespace lockstep::sequence_parallel;
using test::near;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Keys {
  std::vector<double> scores, values;
};

// Over keys [first, end), whose values are single numbers.
Partial over(const Keys& keys, std::size_t first, std::size_t end) {
  Partial partial{-infinity, {0}};
  double most = -infinity, sum = 0;
  for (std::size_t i = first; i < end; ++i) most = std::max(most, keys.scores[i]);
  for (std::size_t i = first; i < end; ++i) {
    const double weight = std::exp(keys.scores[i] - most);
    sum += weight;
    partial.output[0] += weight * keys.values[i];
  }
  if (sum == 0) return partial;
  partial.output[0] /= sum;
  partial.log_sum = most + std::log(sum);
  return partial;
}

void check_same(const Partial& seen, const Partial& expected) {
  CHECK(std::abs(seen.output[0] - expected.output[0]) <= near);
  if (expected.log_sum == -infinity) {
    CHECK(seen.log_sum == -infinity);
  } else {
    CHECK(std::abs(seen.log_sum - expected.log_sum) <=
          near * std::max(1.0, std::abs(expected.log_sum)));
  }
}

}  // namespace

TEST_CASE("online softmax: blocks in any order and in a tree are the softmax over all keys") {
  const double size = GENERATE(1.0, 30.0, 1e4);
  Keys keys;
  for (std::uint64_t i = 0; i < 7; ++i) {
    keys.scores.push_back(size * (2 * random_uniform(3, i) - 1));
    keys.values.push_back(2 * random_uniform(4, i) - 1);
  }
  const Partial whole = over(keys, 0, 7);
  Partial forwards = over(keys, 0, 2), backwards = over(keys, 5, 7);
  merge(forwards, over(keys, 2, 5));
  merge(forwards, over(keys, 5, 7));
  merge(backwards, over(keys, 2, 5));
  merge(backwards, over(keys, 0, 2));
  Partial front = over(keys, 0, 3), back = over(keys, 3, 4);
  merge(back, over(keys, 4, 7));
  merge(front, back);
  for (const Partial& seen : {forwards, backwards, front}) check_same(seen, whole);
}

TEST_CASE("online softmax: a block without keys changes nothing, and nothing twice is nothing") {
  const Keys keys{{0.5, 2}, {1, -1}};
  const Partial nothing{-infinity, {0}}, some = over(keys, 0, 2);
  Partial first = nothing, second = some, third = nothing;
  merge(first, some);
  merge(second, nothing);
  merge(third, nothing);
  check_same(first, some);
  check_same(second, some);
  check_same(third, nothing);
}

TEST_CASE("online softmax: tensors are merged query by query, as the kernel merges them") {
  CpuDevice device;
  const DType dtype = GENERATE(DType::float64, DType::float32, DType::bfloat16);
  const std::int64_t batch = 2, tokens = 3, heads = 2, width = 6;
  const auto made = [&](std::uint64_t stream) {
    const Tensor sums = test::drawn({batch, heads, tokens}, stream + 1, device, 40);
    sums.data<double>()[static_cast<std::size_t>(stream)] = -infinity;  // of no key
    sums.data<double>()[7] = -infinity;                                 // neither here nor there
    return ops::Attention{test::drawn({batch, tokens, width}, stream, device).to(dtype),
                          sums.to(dtype == DType::float64 ? dtype : DType::float32)};
  };
  ops::Attention by_part = made(2), by_kernel = made(2);
  const ops::Attention block = made(5), before = made(5);
  absorb(by_part, block);
  ops::merge_attention(by_kernel, block);
  const double apart = dtype == DType::float64 ? near : dtype == DType::float32 ? 1e-5 : 1e-2;
  CHECK(test::difference(by_part.output, by_kernel.output) <= apart);
  CHECK(test::difference(by_part.log_sums, by_kernel.log_sums) <= apart);
  CHECK(test::difference(block.output, before.output) == 0);
  CHECK(by_part.log_sums.item(7) == -infinity);
  // Token 1 of head 1 in sample 0 is the one that has no key in `block`.
  CHECK(by_part.log_sums.item(5) != before.log_sums.item(5));
}

TEST_CASE("online softmax: attention of other queries is refused") {
  CpuDevice device;
  const ops::Attention one{zeros({1, 2, 4}, DType::float32, device),
                           zeros({1, 2, 2}, DType::float32, device)};
  const ops::Attention other{zeros({1, 3, 4}, DType::float32, device),
                             zeros({1, 2, 3}, DType::float32, device)};
  CHECK_THROWS_WITH(absorb(one, other), test::contains("[1, 3, 4]"));
}
