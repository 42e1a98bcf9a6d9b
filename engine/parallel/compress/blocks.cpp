#include "engine/parallel/compress/blocks.hpp"

#include <algorithm>

namespace lockstep::compress {

Cut cut_into(std::int64_t parts, std::int64_t count, std::int64_t chunk) {
  return {(count + parts - 1) / parts, chunk};
}

std::span<float> Cut::part(std::span<float> all, int p) const {
  const auto begin = std::min(static_cast<std::size_t>(p * elements), all.size());
  return all.subspan(begin, std::min(static_cast<std::size_t>(elements), all.size() - begin));
}

std::span<std::byte> Cut::block(const Tensor& blocks, int p) const {
  return blocks.raw_bytes().subspan(static_cast<std::size_t>(p * bytes()),
                                    static_cast<std::size_t>(bytes()));
}

Tensor floats_of(const Tensor& data) {
  const Tensor here = to_host(data);
  return here.dtype() == DType::float32 ? here : here.to(DType::float32);
}

Tensor place_for(const Tensor& data, Device& host) {
  const bool in_place = &host == &data.device() && data.dtype() == DType::float32;
  return in_place ? data : empty(data.shape(), DType::float32, host);
}

void bring_back(const Tensor& result, const Tensor& data) {
  if (result.same_place(data)) return;
  const Tensor there = to_device(result, data.device());
  data.copy_(data.dtype() == DType::float32 ? there : there.to(data.dtype()));
}

void charge_for(const Tensor& blocks) {
  const auto bytes = static_cast<double>(blocks.numel());
  blocks.device().charge(4 * bytes, 5 * bytes);
}

}  // namespace lockstep::compress
