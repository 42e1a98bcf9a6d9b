#include "engine/tensor/positions.hpp"

namespace lockstep {
namespace {

// A query sees none of the keys, some, or all of them; of those between, each sees one more.
std::int64_t pairs_of(const TokenRange& queries, const TokenRange& keys) {
  if (keys.count == 0) return 0;
  const std::int64_t none = queries.before(keys.first);
  const std::int64_t all = queries.count - queries.before(keys.end() - 1);
  const std::int64_t some = queries.count - none - all;
  const std::int64_t seen = queries.first + none + 1 - keys.first;  // by the first of those
  return all * keys.count + some * seen + some * (some - 1) / 2;
}

}  // namespace

std::int64_t pairs_seen(const Positions& queries, const Positions& keys) {
  return pairs_of(queries.early, keys.early) + pairs_of(queries.early, keys.late) +
         pairs_of(queries.late, keys.early) + pairs_of(queries.late, keys.late);
}

}  // namespace lockstep
