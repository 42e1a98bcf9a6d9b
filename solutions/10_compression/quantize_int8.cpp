// Task: sum a tensor over the ranks while it travels in 8 bits. Quantise N parts in chunks, send
// part p to rank p (all_to_all), add what arrives as float32, quantise the sum, and send it to all
// ranks (all_gather). The contract is in engine/parallel/compress/quantize.hpp. blocks.hpp beside
// it says where parts, codes and scales lie, and `then` makes a Work that goes on when the first
// exchange is over.
#include "engine/parallel/compress/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "engine/parallel/compress/blocks.hpp"
#include "engine/parallel/compress/continuation.hpp"

namespace lockstep::compress {

// >>> your code
namespace {

constexpr float largest_code = 127;  // -128 is not used, so that zero is in the middle

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

// Steps b and c of the contract. `result` is the host's place for the sum.
void sum_parts(comm::ProcessGroup& group, const Tensor& received, const Tensor& result,
               const Cut& cut) {
  const Tensor mine = zeros({cut.elements}, DType::float32, result.device());
  const Tensor own = received.empty_like(cut.bytes());
  const Tensor all = received.empty_like(received.numel());
  const bool numbers = result.device().has_numbers();
  if (numbers) {
    for (int r = 0; r < group.size(); ++r) {
      add(mine.data<float>(), cut, cut.block(received, r));
    }
    quantize(mine.data<float>(), cut, cut.block(own, 0));
  }
  charge_for(received);
  charge_for(own);
  group.all_gather(own, all);
  result.fill_(0);
  for (int p = 0; numbers && p < group.size(); ++p) {
    add(cut.part(result.data<float>(), p), cut, cut.block(all, p));
  }
  charge_for(all);
}

}  // namespace
// <<< your code

comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data, std::int64_t chunk) {
  LOCKSTEP_CHECK(chunk >= 1, "quantized_all_reduce: a chunk of ", chunk,
                 " elements; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(data.dtype()), "quantized_all_reduce: elements of ",
                 name_of(data.dtype()), " on rank ", group.rank(),
                 "; only floating point is quantised");
  // >>> your code
  const Cut cut = cut_into(group.size(), data.numel(), chunk);
  Device& host = data.device().host();
  const Tensor sent = empty({group.size() * cut.bytes()}, DType::uint8, host);
  const Tensor received = sent.empty_like(sent.numel());
  if (host.has_numbers()) {
    const Tensor floats = floats_of(data);
    for (int p = 0; p < group.size(); ++p) {
      quantize(cut.part(floats.data<float>(), p), cut, cut.block(sent, p));
    }
  }
  charge_for(sent);
  comm::Work work = group.all_to_all_async(sent, received);
  return then(group, std::move(work), [&group, data, sent, received, cut] {
    const Tensor result = place_for(data, received.device());
    sum_parts(group, received, result, cut);
    bring_back(result, data);
  });
  // <<< your code
}

}  // namespace lockstep::compress
