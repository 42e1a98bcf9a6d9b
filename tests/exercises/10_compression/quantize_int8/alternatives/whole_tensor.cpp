// Tensor operations instead of loops over elements where there are some: codes are a tensor of
// int8, decoded parts are added with reduce_, and all scales are found before the first code.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "engine/parallel/compress/blocks.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/quantize.hpp"

namespace lockstep::compress {
namespace {

std::vector<float> scales_of(std::span<const float> part, const Cut& cut) {
  std::vector<float> scales(static_cast<std::size_t>(cut.scales()));
  for (std::size_t i = 0; i < part.size(); ++i) {
    float& scale = scales[i / static_cast<std::size_t>(cut.chunk)];
    // NaN stays: it is larger than nothing, and nothing is larger than it.
    if (!std::isfinite(part[i])) scale = std::nanf("");
    if (std::abs(part[i]) / 127 > scale) scale = std::abs(part[i]) / 127;
  }
  for (float& scale : scales) {
    if (scale < std::numeric_limits<float>::min()) scale = std::numeric_limits<float>::min();
  }
  return scales;
}

void write(std::span<const float> part, const Cut& cut, std::span<std::byte> block) {
  const std::vector<float> scales = scales_of(part, cut);
  for (std::size_t i = 0; i < static_cast<std::size_t>(cut.elements); ++i) {
    const float scale = scales[i / static_cast<std::size_t>(cut.chunk)];
    const bool none = i >= part.size() || std::isnan(scale);
    block[i] = static_cast<std::byte>(none ? 0L : std::lrint(part[i] / scale));
  }
  if (!scales.empty())
    std::memcpy(&block[static_cast<std::size_t>(cut.elements)], scales.data(), 4 * scales.size());
}

Tensor read(const Cut& cut, std::span<const std::byte> block, Device& device) {
  const Tensor values = empty({cut.elements}, DType::float32, device);
  for (std::int64_t i = 0; i < cut.elements; ++i) {
    float scale = 0;
    std::memcpy(&scale, &block[static_cast<std::size_t>(cut.elements + 4 * (i / cut.chunk))], 4);
    const auto code = static_cast<std::int8_t>(block[static_cast<std::size_t>(i)]);
    values.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(code) * scale;
  }
  return values;
}

}  // namespace

comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data, std::int64_t chunk) {
  const Cut cut = cut_into(group.size(), data.numel(), chunk);
  Device& device = data.device();
  const Tensor floats = floats_of(data).clone();
  const Tensor sent = empty({group.size() * cut.bytes()}, DType::uint8, device);
  for (int p = 0; p < group.size(); ++p) {
    write(cut.part(floats.data<float>(), p), cut, cut.block(sent, p));
  }
  const Tensor received = sent.clone();
  comm::Work exchanged = group.all_to_all_async(sent, received);
  return then(group, std::move(exchanged), [&group, &device, data, sent, received, cut] {
    const Tensor sum = zeros({cut.elements}, DType::float32, device);
    for (int r = 0; r < group.size(); ++r) {
      sum.reduce_(read(cut, cut.block(received, r), device), ReduceOp::sum);
    }
    const Tensor own = sent.empty_like(cut.bytes());
    write(sum.data<float>(), cut, cut.block(own, 0));
    group.all_gather(own, received);
    const Tensor all = empty({group.size() * cut.elements}, DType::float32, device);
    for (int p = 0; p < group.size(); ++p) {
      all.narrow(p * cut.elements, cut.elements).copy_(read(cut, cut.block(received, p), device));
    }
    data.copy_(all.narrow(0, data.numel()).view(data.shape()).to(data.dtype()));
  });
}

}  // namespace lockstep::compress
