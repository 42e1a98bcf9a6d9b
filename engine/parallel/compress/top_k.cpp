#include "engine/parallel/compress/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/parallel/compress/entries.hpp"
#include "engine/parallel/compress/then.hpp"
#include "engine/tensor/gather.hpp"

namespace lockstep::compress {
namespace {

// The places of the k largest magnitudes, ascending.
template <typename T>
std::vector<std::int32_t> largest_places(std::span<const T> values, std::int64_t k) {
  std::vector<T> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](T value) {
    return std::isnan(value) ? std::numeric_limits<T>::infinity() : std::abs(value);
  });
  std::vector<T> sorted = magnitudes;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const T least = *last;
  // Of those that equal the least, as many as the larger ones leave room for.
  std::int64_t equals = k - std::count_if(sorted.begin(), last, [&](T m) { return m > least; });
  std::vector<std::int32_t> places;
  places.reserve(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    if (magnitudes[i] > least || (magnitudes[i] == least && equals-- > 0)) {
      places.push_back(static_cast<std::int32_t>(i));
    }
  }
  return places;
}

// Takes the k largest entries out of `residual` and writes them as they travel: the places, then
// the values times `share`.
template <typename T>
void take_largest(std::span<T> residual, std::int64_t k, double share, std::byte* block) {
  const std::vector<std::int32_t> places = largest_places<T>(residual, k);
  std::memcpy(block, places.data(), places.size() * sizeof(std::int32_t));
  block += places.size() * sizeof(std::int32_t);
  for (const std::int32_t place : places) {
    T& entry = residual[static_cast<std::size_t>(place)];
    const T value = entry * static_cast<T>(share);
    std::memcpy(block, &value, sizeof value);
    block += sizeof value;
    entry = 0;
  }
}

void take_out(const Tensor& residual, const Tensor& block, std::int64_t k, double share) {
  const Tensor here = to_host(residual);
  if (here.dtype() == DType::float32) {
    take_largest(here.data<float>(), k, share, block.raw_bytes().data());
  } else {
    take_largest(here.data<double>(), k, share, block.raw_bytes().data());
  }
  if (!here.same_place(residual)) residual.copy_(to_device(here, residual.device()));
}

// The entries of all ranks, added where they belong.
Tensor sum_of_entries(const Tensor& all, std::int64_t k, const Tensor& gradient) {
  Device& host = all.device();
  const std::int64_t block_bytes = k * static_cast<std::int64_t>(4 + bytes_of(gradient.dtype()));
  const std::int64_t ranks = all.numel() / block_bytes;
  const Tensor places = empty({ranks * k}, DType::int64, host);
  const Tensor values = empty({ranks * k, 1}, gradient.dtype(), host);
  if (host.has_numbers()) {
    std::vector<std::int32_t> of_rank(static_cast<std::size_t>(k));
    auto place = places.data<std::int64_t>().begin();
    const std::byte* block = all.raw_bytes().data();
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
  Device& device = gradient.device();
  return ops::embedding_backward(to_device(values, device), to_device(places, device),
                                 gradient.numel());
}

}  // namespace

comm::Work top_k_reduce(comm::ProcessGroup& group, const Tensor& gradient, const Tensor& residual,
                        double fraction) {
  const std::int64_t count = gradient.numel();
  LOCKSTEP_CHECK(gradient.dtype() == DType::float32 || gradient.dtype() == DType::float64,
                 "top_k_reduce: a gradient of ", name_of(gradient.dtype()), " on rank ",
                 group.rank(), "; pass float32 or float64, for what is left out adds up");
  LOCKSTEP_CHECK(residual.numel() == count && residual.dtype() == gradient.dtype(),
                 "top_k_reduce: a residual of ", residual.numel(), " ", name_of(residual.dtype()),
                 " for a gradient of ", count, " ", name_of(gradient.dtype()), " on rank ",
                 group.rank(), "; a residual belongs to one gradient");
  LOCKSTEP_CHECK(count <= std::numeric_limits<std::int32_t>::max(), "top_k_reduce: ", count,
                 " elements; places travel in 32 bits: pass buckets of less than 2^31 elements");
  const std::int64_t k = entries_of(count, fraction);
  residual.reduce_(gradient, ReduceOp::sum);
  if (k == 0) return {};
  Device& host = gradient.device().host();
  const Tensor block =
      empty({k * static_cast<std::int64_t>(4 + bytes_of(gradient.dtype()))}, DType::uint8, host);
  if (host.has_numbers()) take_out(residual, block, k, 1.0 / group.size());
  // Reads every element some three times, to find the k-th largest and to collect.
  residual.device().charge(3.0 * static_cast<double>(count),
                           3 * static_cast<double>(residual.bytes()));
  const Tensor all = block.empty_like(block.numel() * group.size());
  comm::Work work = group.all_gather_async(block, all);
  return then(group, std::move(work),
              [gradient, block, all, k] { gradient.copy_(sum_of_entries(all, k, gradient)); });
}

}  // namespace lockstep::compress
