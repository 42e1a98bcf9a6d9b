#include "tests/compress/fixtures.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/train/fiber_ranks.hpp"

namespace lockstep::test {

Values integers_of(int rank, std::int64_t count, int step) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<float>((i * 37 + rank * 11 + step * 53) % 50 + 1);
    values.push_back((i + rank + step) % 3 == 0 ? -mixed : mixed);
  }
  return values;
}

Values numbers_of(int rank, std::int64_t count, int step) {
  Values values = integers_of(rank, count, step);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= 0.1F * std::pow(10.0F, static_cast<float>(i % 4) - 2);
  }
  return values;
}

Tensor tensor_of(const Values& values, Device& device) {
  const Tensor tensor = empty({std::ssize(values)}, DType::float32, device.host());
  std::ranges::copy(values, tensor.data<float>().begin());
  return to_device(tensor, device);
}

Values values_of(const Tensor& tensor) {
  const Tensor here = to_host(tensor);
  const auto elements = here.data<float>();
  return {elements.begin(), elements.end()};
}

bool same_bits(const Values& one, const Values& other) {
  return std::ranges::equal(one, other, [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

std::vector<std::int64_t> sizes_for(int ranks) {
  return {0, 1, ranks - 1, ranks, ranks + 1, 101, 2600};
}

Reduced reduced(int ranks, const Brings& brings, const Reduce& reduce) {
  std::vector<Values> of_rank(static_cast<std::size_t>(ranks));
  Reduced result;
  result.sent.resize(of_rank.size());
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto rank = static_cast<std::size_t>(group.rank());
    const Tensor data = tensor_of(brings(group.rank()), device);
    const std::int64_t before = group.traffic().bytes_sent;
    reduce(group, data);
    result.sent[rank] = group.traffic().bytes_sent - before;
    of_rank[rank] = values_of(data);
  });
  for (const Values& values : of_rank) CHECK(same_bits(values, of_rank[0]));
  result.values = of_rank[0];
  return result;
}

collectives::GradientBucket bucket_of(const Tensor& flat, const std::vector<Shape>& shapes,
                                      std::size_t index) {
  collectives::GradientBucket bucket{.index = index, .last = true, .flat = flat, .gradients = {}};
  std::int64_t at = 0;
  for (const Shape& shape : shapes) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    bucket.gradients.push_back(flat.narrow(at, count).view(shape));
    at += count;
  }
  return bucket;
}

std::string error_on(int ranks, const std::function<void(comm::ProcessGroup&)>& body) {
  try {
    on_fibers(ranks, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace lockstep::test
