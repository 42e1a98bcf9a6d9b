// Task: send only the k largest entries of a gradient, with their signs and places, and keep the
// rest for the next call (error feedback). Add the gradient to the residual, take the k largest
// entries out of it, gather those of all ranks, and return a Work whose wait() adds them up where
// they belong. The contract is in engine/parallel/compress/top_k.hpp. entries.hpp beside it says
// how many entries travel, and writes and adds them; `then` makes such a Work.
#include "engine/parallel/compress/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/entries.hpp"

namespace lockstep::compress {

// >>> your code
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

// Takes the k largest entries out of `residual` and writes them, times `share`, as they travel.
template <typename T>
void take_largest(std::span<T> residual, std::int64_t k, T share, const Tensor& block) {
  const std::vector<std::int32_t> places = largest_places<T>(residual, k);
  for (std::int64_t j = 0; j < k; ++j) {
    const std::int32_t place = places[static_cast<std::size_t>(j)];
    T& entry = residual[static_cast<std::size_t>(place)];
    write_entry<T>(block, k, j, place, entry * share);
    entry = 0;
  }
}

void take_out(const Tensor& residual, const Tensor& block, std::int64_t k, double share) {
  const Tensor here = to_host(residual);
  if (here.dtype() == DType::float32) {
    take_largest(here.data<float>(), k, static_cast<float>(share), block);
  } else {
    take_largest(here.data<double>(), k, share, block);
  }
  if (!here.same_place(residual)) residual.copy_(to_device(here, residual.device()));
}

}  // namespace
// <<< your code

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
  // >>> your code
  const std::int64_t k = entries_of(count, fraction);
  residual.reduce_(gradient, ReduceOp::sum);
  if (k == 0) return {};
  const Tensor block = block_for(gradient, k);
  if (block.device().has_numbers()) take_out(residual, block, k, 1.0 / group.size());
  // Reads every element some three times, to find the k-th largest and to collect.
  residual.device().charge(3.0 * static_cast<double>(count),
                           3 * static_cast<double>(residual.bytes()));
  const Tensor all = block.empty_like(block.numel() * group.size());
  comm::Work work = group.all_gather_async(block, all);
  return then(group, std::move(work),
              [gradient, block, all, k] { gradient.copy_(sum_of_entries(all, k, gradient)); });
  // <<< your code
}

}  // namespace lockstep::compress
