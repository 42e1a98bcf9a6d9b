// Gradients that travel in 8 bits, with a scale a chunk.
#include "engine/parallel/compress/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/compress/fixtures.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::any_ranks;
using lockstep::test::contains;
using lockstep::test::integers_of;
using lockstep::test::numbers_of;
using lockstep::test::reduced;
using lockstep::test::Values;

namespace {

test::Reduce in_chunks(std::int64_t chunk) {
  return [chunk](comm::ProcessGroup& group, const Tensor& data) {
    compress::quantized_all_reduce(group, data, chunk).wait();
  };
}

std::int64_t part_elements(std::int64_t count, int ranks) { return (count + ranks - 1) / ranks; }

// First and last element of the chunk that element i is in: chunks count from the border of a part.
std::pair<std::int64_t, std::int64_t> chunk_of(std::int64_t i, std::int64_t count, int ranks,
                                               std::int64_t chunk) {
  const std::int64_t part = part_elements(count, ranks);
  const std::int64_t from = i / part * part;
  const std::int64_t begin = from + (i - from) / chunk * chunk;
  return {begin, std::min({begin + chunk, from + part, count})};
}

// The scale of that chunk in a tensor; in float64, as rounding is accounted for beside it.
double scale_at(const std::vector<double>& values, std::pair<std::int64_t, std::int64_t> chunk) {
  double largest = 0;
  for (std::int64_t i = chunk.first; i < chunk.second; ++i) {
    largest = std::max(largest, std::abs(values[static_cast<std::size_t>(i)]));
  }
  return std::max(largest / 127, std::ldexp(1.0, -126));
}

std::vector<double> wide(const Values& values) { return {values.begin(), values.end()}; }

// Every error over its bound; at most 1 where the contract holds.
double worst_share_of_bound(int ranks, std::int64_t count, std::int64_t chunk,
                            const test::Brings& brings, const Values& seen) {
  std::vector<std::vector<double>> of_rank;
  std::vector<double> sum(static_cast<std::size_t>(count));
  for (int r = 0; r < ranks; ++r) {
    of_rank.push_back(wide(brings(r)));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_rank.back()[i];
  }
  double worst = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto where = chunk_of(i, count, ranks, chunk);
    double first = 0;
    for (const auto& values : of_rank) first += scale_at(values, where) / 2;
    // The sum that is quantised differs from the true one by `first` at most, and so does its
    // largest element.
    const double second = (scale_at(sum, where) + first / 127) / 2;
    // Beside that, float32 rounds a scale, a quotient, a product and N additions, each by 2^-24 of
    // a value that is at most 127 scales.
    const double rounding = std::ldexp(4.0 + ranks, -24) * 254 * (2 * first + 2 * second);
    const auto k = static_cast<std::size_t>(i);
    worst = std::max(worst, std::abs(seen[k] - sum[k]) / (first + second + rounding));
  }
  return worst;
}

}  // namespace

TEST_CASE("int8: every element is within half a step of each rank and half a step of the sum") {
  const int ranks = any_ranks();
  for (const std::int64_t count : test::sizes_for(ranks)) {
    for (const std::int64_t chunk : {1, 7, 256}) {
      CAPTURE(ranks, count, chunk);
      const auto brings = [&](int rank) { return numbers_of(rank, count); };
      const Values seen = reduced(ranks, brings, in_chunks(chunk)).values;
      CHECK(worst_share_of_bound(ranks, count, chunk, brings, seen) <= 1);
    }
  }
}

TEST_CASE("int8: what is a multiple of its scale comes out exactly") {
  const int ranks = any_ranks();
  CAPTURE(ranks);
  // All chunks of 8 hold a 127, and all ranks the same signs, so that sums are multiples, too.
  const auto brings = [&](int rank) {
    Values values;
    for (int i = 0; i < 8 * ranks; ++i) {
      values.push_back(static_cast<float>((rank + 1) * (i % 8 == 3 ? 127 : i % 100 - 50)));
    }
    return values;
  };
  const Values seen = reduced(ranks, brings, in_chunks(8)).values;
  const auto factor = static_cast<float>(ranks * (ranks + 1)) / 2;
  const Values once = brings(0);
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(seen[i] == factor * once[i]);
}

TEST_CASE("int8: an outlier spoils its own chunk only, and a chunk of zeros stays zero") {
  const auto brings = [](int rank) {
    Values values = integers_of(rank, 24);
    values[1] = 1e9F;
    std::fill(values.begin() + 8, values.begin() + 12, 0.0F);
    return values;
  };
  const Values seen = reduced(3, brings, in_chunks(4)).values;
  Values sum(24);
  for (int r = 0; r < 3; ++r) {
    const Values mine = brings(r);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mine[i];
  }
  CHECK(seen[0] == 0);  // far below a step of 1e9 / 127
  for (std::size_t i = 8; i < 12; ++i) CHECK(seen[i] == 0);
  for (std::size_t i = 4; i < 24; ++i) {
    CAPTURE(i);
    // Three shares of at most 50 and their sum of at most 150: 3 · 50/254 + 150/254 < 1.2.
    CHECK(std::abs(seen[i] - sum[i]) < 1.2F);
  }
}

TEST_CASE("int8: a chunk with NaN or infinity is NaN on every rank, the others are not affected") {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const auto brings = [&](int rank) {
      Values values(16, 1.0F);
      if (rank == 2) values[5] = bad;
      return values;
    };
    const Values seen = reduced(3, brings, in_chunks(2)).values;
    // Parts of 6, so that chunks are [4, 6), [6, 8), …
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CAPTURE(i, seen[i]);
      CHECK(std::isnan(seen[i]) == (i == 4 || i == 5));
      if (i != 4 && i != 5) CHECK(seen[i] == test::Approx(3).epsilon(1e-6));
    }
  }
}

TEST_CASE("int8: numbers below the smallest normal ones are kept to half of it") {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float least = std::numeric_limits<float>::min();
  const auto brings = [&](int) { return Values{200 * tiny, -0.75F * least, 100 * least, 0}; };
  const Values seen = reduced(1, brings, in_chunks(1)).values;
  CHECK(seen[0] == 0);
  CHECK(seen[1] == -least);
  CHECK(std::abs(seen[2] - 100 * least) <= least);  // two steps of rounding by half a scale
  CHECK(seen[3] == 0);
}

TEST_CASE("int8: bytes are 2(N-1) parts with their scales") {
  const int ranks = any_ranks();
  for (const std::int64_t count : test::sizes_for(ranks)) {
    for (const std::int64_t chunk : {1, 7, 256}) {
      CAPTURE(ranks, count, chunk);
      const auto brings = [&](int rank) { return integers_of(rank, count); };
      const std::int64_t part = part_elements(count, ranks);
      const std::int64_t scales = (part + chunk - 1) / chunk;
      const auto run = reduced(ranks, brings, in_chunks(chunk));
      for (const std::int64_t sent : run.sent) CHECK(sent == 2 * (ranks - 1) * (part + 4 * scales));
    }
  }
}

TEST_CASE("int8: a quarter of float32's bytes, and two percent for scales") {
  const auto brings = [](int rank) { return integers_of(rank, 2048); };
  const auto run = reduced(4, brings, in_chunks(compress::default_chunk));
  const double in_float32 = 2.0 * 3 / 4 * 2048 * 4;
  CHECK(static_cast<double>(run.sent[0]) / in_float32 == test::Approx(0.25 * (1 + 4.0 / 256)));
}

TEST_CASE("int8: the first exchange is in flight when the function returns") {
  test::on_fibers(3, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor data = test::tensor_of(integers_of(group.rank(), 10'000), device);
    const double began = group.now_s();
    comm::Work work = compress::quantized_all_reduce(group, data);
    LOCKSTEP_EXPECT(group.now_s() == began && !work.complete());
    work.wait();
    LOCKSTEP_EXPECT(group.now_s() > began);
  });
}

TEST_CASE("int8: float64 goes through float32") {
  test::on_fibers(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor data = full({5}, 127.0 * (group.rank() + 1), DType::float64, device);
    compress::quantized_all_reduce(group, data, 2).wait();
    for (int i = 0; i < 5; ++i) LOCKSTEP_EXPECT(data.item(i) == 381);
  });
}

TEST_CASE(
    "int8: chunks and types that make no sense are refused, and other counts name the ranks") {
  const auto error_of = [](std::int64_t chunk, DType dtype) {
    return test::error_on(2, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      compress::quantized_all_reduce(group, zeros({4}, dtype, device), chunk).wait();
    });
  };
  CHECK_THAT(error_of(0, DType::float32), contains("a chunk of 0 elements; pass at least 1"));
  CHECK_THAT(error_of(-3, DType::float32), contains("a chunk of -3 elements"));
  CHECK_THAT(error_of(4, DType::int64), contains("elements of int64"));
  const std::string differ = test::error_on(2, [](comm::ProcessGroup& group) {
    CpuDevice device;
    const Tensor data = zeros({4 + 4 * group.rank()}, DType::float32, device);
    compress::quantized_all_reduce(group, data).wait();
  });
  CHECK_THAT(differ, contains("all_to_all") && contains("rank 0") && contains("rank 1"));
}
