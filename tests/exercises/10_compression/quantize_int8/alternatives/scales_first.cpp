// Blocks with the scales before the codes, scales that are multiplied by their inverse, codes that
// are rounded half away from zero, and a Pending of its own instead of `then`.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "engine/parallel/compress/quantize.hpp"

namespace lockstep::compress {
namespace {

struct Layout {
  std::int64_t part, chunk;
  std::int64_t scales() const { return (part + chunk - 1) / chunk; }
  std::int64_t bytes() const { return part + 4 * scales(); }
};

// Elements [0, count) of `from`, of a part of layout.part.
void encode(const float* from, std::int64_t count, const Layout& layout, std::byte* block) {
  std::memset(block, 0, static_cast<std::size_t>(layout.bytes()));
  std::byte* codes = block + 4 * layout.scales();
  for (std::int64_t begin = 0; begin < count; begin += layout.chunk) {
    const std::int64_t end = std::min(begin + layout.chunk, count);
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = begin; i < end; ++i) {
      finite = finite && std::isfinite(from[i]);
      largest = std::fmax(largest, std::fabs(from[i]));
    }
    float scale = std::fmax(largest * (1.0F / 127), std::numeric_limits<float>::min());
    if (!finite) scale = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(block + 4 * (begin / layout.chunk), &scale, 4);
    const double inverse = 1.0 / static_cast<double>(scale);
    for (std::int64_t i = begin; finite && i < end; ++i) {
      const double code = std::round(static_cast<double>(from[i]) * inverse);
      codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(std::clamp(code, -127.0, 127.0)));
    }
  }
}

double decode(const std::byte* block, const Layout& layout, std::int64_t i) {
  float scale = 0;
  std::memcpy(&scale, block + 4 * (i / layout.chunk), 4);
  return static_cast<double>(static_cast<std::int8_t>(block[4 * layout.scales() + i])) *
         static_cast<double>(scale);
}

class Sum final : public comm::Pending {
 public:
  Sum(comm::ProcessGroup& group, Tensor data, const Layout& layout)
      : group_(group),
        data_(std::move(data)),
        layout_(layout),
        sent_(empty({group.size() * layout.bytes()}, DType::uint8, data_.device())),
        received_(sent_.empty_like(sent_.numel())) {
    const Tensor floats = data_.to(DType::float32);
    for (int p = 0; p < group.size(); ++p) {
      const std::int64_t begin = std::min(p * layout_.part, data_.numel());
      encode(floats.data<float>().data() + begin, std::min(layout_.part, data_.numel() - begin),
             layout_, sent_.raw_bytes().data() + p * layout_.bytes());
    }
    first_ = group.all_to_all_async(sent_, received_);
  }

  void wait() override {
    first_.wait();
    std::vector<float> mine(static_cast<std::size_t>(layout_.part));
    for (std::int64_t i = 0; i < layout_.part; ++i) {
      double sum = 0;
      for (int r = group_.size() - 1; r >= 0; --r) {
        sum += decode(received_.raw_bytes().data() + r * layout_.bytes(), layout_, i);
      }
      mine[static_cast<std::size_t>(i)] = static_cast<float>(sum);
    }
    const Tensor own = sent_.empty_like(layout_.bytes());
    encode(mine.data(), layout_.part, layout_, own.raw_bytes().data());
    group_.all_gather(own, received_);
    std::vector<double> result(static_cast<std::size_t>(data_.numel()));
    for (std::int64_t i = 0; i < data_.numel(); ++i) {
      const std::byte* block = received_.raw_bytes().data() + i / layout_.part * layout_.bytes();
      result[static_cast<std::size_t>(i)] = decode(block, layout_, i % layout_.part);
    }
    data_.copy_(from_values(result, data_.shape(), data_.dtype(), data_.device()));
  }

 private:
  comm::ProcessGroup& group_;
  Tensor data_;
  Layout layout_;
  Tensor sent_, received_;
  comm::Work first_;
};

}  // namespace

comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data, std::int64_t chunk) {
  const Layout layout{(data.numel() + group.size() - 1) / group.size(), chunk};
  return comm::Work(std::make_unique<Sum>(group, data, layout));
}

}  // namespace lockstep::compress
