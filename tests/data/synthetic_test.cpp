#include <array>
#include <vector>

#include "engine/data/dataset.hpp"
#include "tests/catch.hpp"

using namespace lockstep;

namespace {

// The class whose mean is nearest to the sample.
std::int64_t nearest_mean(const std::vector<std::vector<double>>& means, const double* sample) {
  std::int64_t best = 0;
  double best_distance = 1e300;
  for (std::size_t c = 0; c < means.size(); ++c) {
    double distance = 0;
    for (std::size_t i = 0; i < means[c].size(); ++i) {
      distance += (sample[i] - means[c][i]) * (sample[i] - means[c][i]);
    }
    if (distance < best_distance) best = static_cast<std::int64_t>(c), best_distance = distance;
  }
  return best;
}

std::vector<std::int64_t> first(std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i);
  return indices;
}

}  // namespace

TEST_CASE("synthetic: a sample depends on seed and number only, not on batch or dataset size") {
  CpuDevice device;
  const auto small = data::make_synthetic(10, 5, 3, 1), large = data::make_synthetic(100, 5, 3, 1);
  const auto other = data::make_synthetic(10, 5, 3, 2);
  const auto a = small->batch(std::array<std::int64_t, 2>{7, 3}, DType::float64, device);
  const auto b = large->batch(std::array<std::int64_t, 1>{3}, DType::float64, device);
  const auto c = other->batch(std::array<std::int64_t, 1>{3}, DType::float64, device);
  CHECK(a.labels.item(1) == b.labels.item(0));
  for (std::int64_t i = 0; i < 5; ++i) CHECK(a.inputs.item(5 + i) == b.inputs.item(i));
  CHECK(a.inputs.item(5) != c.inputs.item(0));
  CHECK(small->size() == 10);
  CHECK(small->inputs() == 5);
  CHECK(small->classes() == 3);
}

TEST_CASE("synthetic: what is learnt on one seed holds on another") {
  CpuDevice device;
  const auto train = data::make_synthetic(500, 20, 4, 1)->batch(first(500), DType::float64, device);
  const auto test = data::make_synthetic(500, 20, 4, 2)->batch(first(500), DType::float64, device);
  std::vector<std::vector<double>> means(4, std::vector<double>(20));
  std::array<double, 4> counts{};
  for (std::int64_t s = 0; s < 500; ++s) ++counts[static_cast<std::size_t>(train.labels.item(s))];
  for (std::int64_t s = 0; s < 500; ++s) {
    const auto label = static_cast<std::size_t>(train.labels.item(s));
    for (std::size_t i = 0; i < 20; ++i) {
      means[label][i] += train.inputs.item(s * 20 + static_cast<std::int64_t>(i)) / counts[label];
    }
  }
  int right = 0;
  for (std::int64_t s = 0; s < 500; ++s) {
    const std::int64_t guess = nearest_mean(means, test.inputs.data<double>().data() + s * 20);
    right += test.labels.data<std::int64_t>()[static_cast<std::size_t>(s)] == guess ? 1 : 0;
  }
  CHECK(right > 450);
}

TEST_CASE("synthetic: indices outside and impossible sizes are refused") {
  CpuDevice device;
  const auto dataset = data::make_synthetic(3, 2, 2, 0);
  CHECK_THROWS_AS(dataset->batch(std::array<std::int64_t, 1>{3}, DType::float32, device),
                  ContractError);
  CHECK_THROWS_AS(data::make_synthetic(-1, 2, 2, 0), ContractError);
  CHECK_THROWS_AS(data::make_synthetic(1, 0, 2, 0), ContractError);
  CHECK_THROWS_AS(data::make_synthetic(1, 2, 0, 0), ContractError);
}
