#include "engine/parallel/compress/entries.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/tensor/gather.hpp"

namespace lockstep::compress {

std::int64_t entries_of(std::int64_t count, double fraction) {
  LOCKSTEP_CHECK(fraction > 0 && fraction <= 1, "a fraction of ", fraction,
                 " of a gradient's entries cannot travel; pass one above 0 and up to 1");
  if (count == 0) return 0;
  const std::int64_t nearest = std::llround(fraction * static_cast<double>(count));
  return std::clamp<std::int64_t>(nearest, 1, count);
}

std::vector<std::int64_t> random_entries(std::int64_t count, std::int64_t k, std::uint64_t seed) {
  LOCKSTEP_CHECK(k >= 0 && k <= count, "random_entries: ", k, " entries of ", count,
                 "; pass from 0 to as many as there are");
  std::vector<bool> taken(static_cast<std::size_t>(count));
  for (std::int64_t last = count - k; last < count; ++last) {
    // From [0, last]. 53 random bits are enough: the bias is below count / 2^53.
    const double share = random_uniform(seed, static_cast<std::uint64_t>(last));
    const auto drawn = static_cast<std::size_t>(share * static_cast<double>(last + 1));
    taken[taken[drawn] ? static_cast<std::size_t>(last) : drawn] = true;
  }
  std::vector<std::int64_t> places;
  places.reserve(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < count; ++i) {
    if (taken[static_cast<std::size_t>(i)]) places.push_back(i);
  }
  return places;
}

Tensor block_for(const Tensor& gradient, std::int64_t k) {
  const auto bytes = static_cast<std::int64_t>(4 + bytes_of(gradient.dtype()));
  return empty({k * bytes}, DType::uint8, gradient.device().host());
}

Tensor sum_of_entries(const Tensor& blocks, std::int64_t k, const Tensor& like) {
  Device& host = blocks.device();
  const std::int64_t block_bytes = k * static_cast<std::int64_t>(4 + bytes_of(like.dtype()));
  const std::int64_t ranks = blocks.numel() / block_bytes;
  const Tensor places = empty({ranks * k}, DType::int64, host);
  const Tensor values = empty({ranks * k, 1}, like.dtype(), host);
  if (host.has_numbers()) {
    std::vector<std::int32_t> of_rank(static_cast<std::size_t>(k));
    auto place = places.data<std::int64_t>().begin();
    const std::byte* block = blocks.raw_bytes().data();
    std::byte* value = values.raw_bytes().data();
    const auto places_bytes = static_cast<std::size_t>(4 * k);
    const std::size_t values_bytes = static_cast<std::size_t>(block_bytes) - places_bytes;
    for (std::int64_t r = 0; r < ranks; ++r) {
      std::memcpy(of_rank.data(), block, places_bytes);
      place = std::ranges::copy(of_rank, place).out;
      value = std::copy_n(block + places_bytes, values_bytes, value);
      block += block_bytes;
    }
  }
  Device& device = like.device();
  return ops::embedding_backward(to_device(values, device), to_device(places, device),
                                 like.numel());
}

}  // namespace lockstep::compress
