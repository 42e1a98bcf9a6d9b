// Wrong on purpose: what the sources have is put together source by source, as if shards could be
// concatenated.
#include <cstddef>

#include "engine/base/error.hpp"
#include "engine/checkpoint/reshard_plan.hpp"

namespace lockstep::checkpoint {

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  std::vector<Stretch> stretches;
  for (const Box& box : wanted.at(static_cast<std::size_t>(rank))) {
    Boxes missing{box};
    for (std::size_t source = 0; source < saved.size(); ++source) {
      std::int64_t offset = 0;
      for (const Box& held : saved[source]) {
        for (const Box& common : take(missing, {held})) {
          const auto rows = rows_of(common, held);
          const std::int64_t row = numel_of(common) / std::ssize(rows);
          for (const std::int64_t place : rows) {
            stretches.push_back({static_cast<int>(source), offset + place, row});
          }
        }
        offset += numel_of(held);
      }
    }
  }
  return stretches;
}

}  // namespace lockstep::checkpoint
