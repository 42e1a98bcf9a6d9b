// Loaders: which samples make a batch, and where an epoch ends.
#include "engine/data/loader.hpp"

#include <numeric>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using Batches = std::vector<std::vector<std::int64_t>>;

TEST_CASE("batches_of: the order in portions, the last one short or dropped") {
  const std::vector<std::int64_t> order{4, 2, 0, 1, 3};
  const auto batches = [&](std::int64_t size, data::LastBatch last) {
    return data::batches_of(order, {.batch_size = size, .last = last});
  };
  CHECK(batches(2, data::LastBatch::keep) == Batches{{4, 2}, {0, 1}, {3}});
  CHECK(batches(2, data::LastBatch::drop) == Batches{{4, 2}, {0, 1}});
  CHECK(batches(5, data::LastBatch::drop) == Batches{{4, 2, 0, 1, 3}});
  CHECK(batches(6, data::LastBatch::keep) == Batches{{4, 2, 0, 1, 3}});
  CHECK(batches(6, data::LastBatch::drop).empty());
  CHECK(data::batches_of({}, {}).empty());
  CHECK_THROWS_AS(batches(0, data::LastBatch::keep), ContractError);
}

TEST_CASE("plain loader: each epoch in its sampler's order, then nothing, again and again") {
  CpuDevice device;
  const auto dataset = data::make_synthetic(10, 3, 4, 7);
  const data::LoaderOptions options{.batch_size = 4, .dtype = DType::float64};
  const auto loader = data::make_plain_loader(
      *dataset,
      [](int epoch) {
        std::vector<std::int64_t> order(10);
        for (std::size_t i = 0; i < 10; ++i) order[i] = (static_cast<int>(i) * 3 + epoch) % 10;
        return order;
      },
      options, device);
  CHECK(!loader->next());
  for (int epoch : {0, 1, 1}) {
    loader->start(epoch);
    for (std::int64_t first : {0, 4, 8}) {
      const auto batch = loader->next();
      REQUIRE(batch);
      std::vector<std::int64_t> expected;
      for (std::int64_t i = first; i < std::min<std::int64_t>(first + 4, 10); ++i) {
        expected.push_back((i * 3 + epoch) % 10);
      }
      const auto right = dataset->batch(expected, DType::float64, device);
      CHECK(batch->inputs.shape() == right.inputs.shape());
      for (std::int64_t i = 0; i < right.inputs.numel(); ++i) {
        CHECK(batch->inputs.item(i) == right.inputs.item(i));
      }
    }
    CHECK(!loader->next());
    CHECK(!loader->next());
  }
  loader->start(2);
  CHECK(loader->next());
  loader->start(3);  // what was left is abandoned
  int batches = 0;
  while (loader->next()) ++batches;
  CHECK(batches == 3);
}

TEST_CASE("plain loader: a sample that is not there fails its batch, and the next one comes") {
  CpuDevice device;
  const auto dataset = data::make_synthetic(4, 2, 2, 7);
  const auto loader = data::make_plain_loader(
      *dataset,
      [](int) {
        return std::vector<std::int64_t>{0, 1, 9, 2, 3};
      },
      {.batch_size = 2}, device);
  loader->start(0);
  CHECK(loader->next());
  CHECK_THROWS_WITH(loader->next(), test::contains("sample 9"));
  CHECK(loader->next());
  CHECK(!loader->next());
}
