#include "engine/parallel/sequence/absorb.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/online_softmax.hpp"
#include "engine/tensor/merge_attention.hpp"

namespace lockstep::sequence_parallel {
namespace {

template <typename Number>
void read(std::span<Number> from, std::vector<double>& to) {
  to.clear();
  for (const Number x : from) to.push_back(static_cast<double>(x));
}

template <typename Number, typename LogSum>
void absorb_rows(const ops::Attention& into, const ops::Attention& block) {
  const std::int64_t tokens = into.log_sums.size(2), heads = into.log_sums.size(1);
  const std::int64_t rows = into.log_sums.numel();
  if (rows == 0) return;
  const std::int64_t size = into.output.numel() / rows;
  const auto to = into.output.data<Number>(), from = block.output.data<Number>();
  const auto to_sums = into.log_sums.data<LogSum>(), from_sums = block.log_sums.data<LogSum>();
  Partial mine, other;
  for (std::int64_t row = 0; row < rows; ++row) {  // (sample, head, token)
    const std::int64_t sample = row / (heads * tokens), head = row / tokens % heads;
    const auto first =
        static_cast<std::size_t>(((sample * tokens + row % tokens) * heads + head) * size);
    const auto at = static_cast<std::size_t>(row), count = static_cast<std::size_t>(size);
    const auto output = to.subspan(first, count), more = from.subspan(first, count);
    mine.log_sum = static_cast<double>(to_sums[at]);
    read(output, mine.output);
    other.log_sum = static_cast<double>(from_sums[at]);
    read(more, other.output);
    merge(mine, other);
    for (std::size_t i = 0; i < count; ++i) output[i] = static_cast<Number>(mine.output[i]);
    to_sums[at] = static_cast<LogSum>(mine.log_sum);
  }
}

}  // namespace

void absorb(const ops::Attention& into, const ops::Attention& block) {
  LOCKSTEP_CHECK(into.output.shape() == block.output.shape() &&
                     into.output.dtype() == block.output.dtype() &&
                     into.log_sums.shape() == block.log_sums.shape(),
                 "absorb: attention of ", name_of(block.output.dtype()), " ",
                 text_of(block.output.shape()), " into one of ", name_of(into.output.dtype()), " ",
                 text_of(into.output.shape()), "; both are of the same queries and heads");
  Device& device = into.output.device();
  if (!device.on_host()) return ops::merge_attention(into, block);
  switch (into.output.dtype()) {
    case DType::float64:
      return absorb_rows<double, double>(into, block);
    case DType::bfloat16:
      return absorb_rows<BFloat16, float>(into, block);
    case DType::float16:
      return absorb_rows<Float16, float>(into, block);
    default:
      return absorb_rows<float, float>(into, block);
  }
}

}  // namespace lockstep::sequence_parallel
