#include "engine/parallel/compress/entries.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"

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

}  // namespace lockstep::compress
