#include "engine/parallel/compress/entries.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

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
  std::unordered_set<std::int64_t> taken;
  std::vector<std::int64_t> places;
  places.reserve(static_cast<std::size_t>(k));
  for (std::int64_t last = count - k; last < count; ++last) {
    // From [0, last]; the bits that the multiplication leaves out bias it by less than count /
    // 2^53.
    const double share = random_uniform(seed, static_cast<std::uint64_t>(last));
    const auto drawn = static_cast<std::int64_t>(share * static_cast<double>(last + 1));
    const std::int64_t place = taken.contains(drawn) ? last : drawn;
    taken.insert(place);
    places.push_back(place);
  }
  std::ranges::sort(places);
  return places;
}

}  // namespace lockstep::compress
