#include "engine/parallel/compress/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "engine/parallel/compress/then.hpp"

namespace lockstep::compress {
namespace {

constexpr float largest_code = 127;  // -128 is not used, so that zero is in the middle

// How a tensor of n elements is cut: N parts, each in chunks.
struct Cut {
  std::int64_t elements, chunk;  // of a part; the last part, or several, may end in padding
  std::int64_t scales() const { return (elements + chunk - 1) / chunk; }
  std::int64_t bytes() const { return elements + 4 * scales(); }
};

// The elements of part p; fewer than `elements` where the data ends.
std::span<float> part_of(std::span<float> all, const Cut& cut, int p) {
  const auto begin = std::min(static_cast<std::size_t>(p * cut.elements), all.size());
  return all.subspan(begin, std::min(static_cast<std::size_t>(cut.elements), all.size() - begin));
}

// NaN where an element is not finite: a chunk without a scale.
float scale_of(std::span<const float> chunk) {
  float largest = 0;
  for (const float x : chunk) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(x));
  }
  return std::max(largest / largest_code, std::numeric_limits<float>::min());
}

// Writes a part as it travels; what the data does not fill is zero.
void quantize(std::span<const float> part, const Cut& cut, std::span<std::byte> block) {
  std::ranges::fill(block, std::byte{0});
  std::byte* scales = block.data() + cut.elements;
  for (std::size_t begin = 0; begin < part.size(); begin += static_cast<std::size_t>(cut.chunk)) {
    const auto chunk =
        part.subspan(begin, std::min(static_cast<std::size_t>(cut.chunk), part.size() - begin));
    const float scale = scale_of(chunk);
    std::memcpy(scales, &scale, sizeof scale);
    scales += sizeof scale;
    if (std::isnan(scale)) continue;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const float code = std::nearbyint(chunk[i] / scale);
      const auto held = static_cast<std::int8_t>(std::clamp(code, -largest_code, largest_code));
      block[begin + i] = static_cast<std::byte>(held);
    }
  }
}

// part += what travelled. The code of an element of a chunk without a scale is 0, and 0 · NaN =
// NaN.
void add(std::span<float> part, const Cut& cut, std::span<const std::byte> block) {
  const std::byte* scales = block.data() + cut.elements;
  for (std::size_t i = 0; i < part.size(); ++i) {
    float scale = 0;
    std::memcpy(&scale, scales + 4 * (i / static_cast<std::size_t>(cut.chunk)), sizeof scale);
    part[i] += static_cast<float>(static_cast<std::int8_t>(block[i])) * scale;
  }
}

std::span<std::byte> block_of(const Tensor& blocks, const Cut& cut, int p) {
  return blocks.raw_bytes().subspan(static_cast<std::size_t>(p * cut.bytes()),
                                    static_cast<std::size_t>(cut.bytes()));
}

// About four operations an element; a float is read and a byte written, or the other way round.
void charge(const Tensor& codes) {
  const auto bytes = static_cast<double>(codes.numel());
  codes.device().charge(4 * bytes, 5 * bytes);
}

// Steps b and c. `result` is the host's place for the sum.
void sum_parts(comm::ProcessGroup& group, const Tensor& received, const Tensor& result,
               const Cut& cut) {
  const Tensor mine = zeros({cut.elements}, DType::float32, result.device());
  const Tensor own = received.empty_like(cut.bytes());
  const Tensor all = received.empty_like(received.numel());
  const bool numbers = result.device().has_numbers();
  if (numbers) {
    for (int r = 0; r < group.size(); ++r) {
      add(mine.data<float>(), cut, block_of(received, cut, r));
    }
    quantize(mine.data<float>(), cut, own.raw_bytes());
  }
  charge(received);
  charge(own);
  group.all_gather(own, all);
  result.fill_(0);
  for (int p = 0; numbers && p < group.size(); ++p) {
    add(part_of(result.data<float>(), cut, p), cut, block_of(all, cut, p));
  }
  charge(all);
}

}  // namespace

comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data, std::int64_t chunk) {
  LOCKSTEP_CHECK(chunk >= 1, "quantized_all_reduce: a chunk of ", chunk,
                 " elements; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(data.dtype()), "quantized_all_reduce: elements of ",
                 name_of(data.dtype()), " on rank ", group.rank(),
                 "; only floating point is quantised");
  const std::int64_t ranks = group.size();
  const Cut cut{(data.numel() + ranks - 1) / ranks, chunk};
  Device& host = data.device().host();
  const Tensor sent = empty({ranks * cut.bytes()}, DType::uint8, host);
  const Tensor received = sent.empty_like(sent.numel());
  if (host.has_numbers()) {
    const Tensor here = to_host(data);
    const Tensor floats = here.dtype() == DType::float32 ? here : here.to(DType::float32);
    for (int p = 0; p < group.size(); ++p) {
      quantize(part_of(floats.data<float>(), cut, p), cut, block_of(sent, cut, p));
    }
  }
  charge(sent);
  comm::Work work = group.all_to_all_async(sent, received);
  return then(group, std::move(work), [&group, data, sent, received, cut] {
    Device& at_host = received.device();
    // On a host, float32 results are written where they belong.
    const bool in_place = &at_host == &data.device() && data.dtype() == DType::float32;
    const Tensor result = in_place ? data : empty(data.shape(), DType::float32, at_host);
    sum_parts(group, received, result, cut);
    if (in_place) return;
    const Tensor there = to_device(result, data.device());
    data.copy_(data.dtype() == DType::float32 ? there : there.to(data.dtype()));
  });
}

}  // namespace lockstep::compress
