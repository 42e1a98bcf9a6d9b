#include "engine/checkpoint/reshard_plan.hpp"

#include <algorithm>

#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {
namespace {

// A stretch, and where it comes in what the rank holds.
struct Placed {
  std::int64_t at;
  Stretch from;
};

// The first elements of the rows of `part` among those of `box`, row-major; part lies in box. A row
// is what lies together: a range of the last axis.
std::vector<std::int64_t> rows_of(const Box& part, const Box& box) {
  Box inside = part;
  for (std::size_t i = 0; i < box.begin.size(); ++i) {
    inside.begin[i] -= box.begin[i];
    inside.end[i] -= box.begin[i];
  }
  const std::int64_t row = part.begin.empty() ? 1 : part.end.back() - part.begin.back();
  std::vector<std::int64_t> rows;
  for_runs(shape_of(box), inside, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t at = 0; at < count; at += row) rows.push_back(first + at);
  });
  return rows;
}

// Makes one stretch of stretches that follow each other in their source.
std::vector<Stretch> joined(std::vector<Placed> placed) {
  std::ranges::sort(placed, {}, &Placed::at);
  std::vector<Stretch> stretches;
  for (const Placed& one : placed) {
    const Stretch& next = one.from;
    Stretch* const last = stretches.empty() ? nullptr : &stretches.back();
    if (last != nullptr && last->source == next.source &&
        last->offset + last->length == next.offset) {
      last->length += next.length;
    } else {
      stretches.push_back(next);
    }
  }
  return stretches;
}

// Adds what a box of the rank, whose elements come from `at` on, takes from one box of a source,
// whose elements begin at first.offset; `common` lies in both.
void add_common(std::vector<Placed>& all, const Box& wanted, std::int64_t at, const Box& saved,
                const Stretch& first, const Box& common) {
  const std::int64_t row = common.begin.empty() ? 1 : common.end.back() - common.begin.back();
  const std::vector<std::int64_t> here = rows_of(common, wanted), there = rows_of(common, saved);
  for (std::size_t i = 0; i < here.size(); ++i) {
    all.push_back({at + here[i], {first.source, first.offset + there[i], row}});
  }
}

// Adds the plan of one box of the rank, whose elements come from `at` on.
void add_box(std::vector<Placed>& all, const ShardPlan& saved, const Box& wanted, std::int64_t at) {
  Boxes missing{wanted};
  for (std::size_t source = 0; source < saved.size() && !missing.empty(); ++source) {
    Stretch first{static_cast<int>(source), 0, 0};
    for (const Box& box : saved[source]) {
      for (const Box& common : take(missing, {box})) {
        add_common(all, wanted, at, box, first, common);
      }
      first.offset += numel_of(box);
    }
  }
  if (missing.empty() || numel_of(wanted) == 0) return;
  throw CheckpointError(text("reshard: no source holds ", text_of(missing.front())));
}

}  // namespace

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < wanted.size(), "reshard: rank ",
                 rank, " of ", wanted.size(), "; ranks count from 0");
  std::vector<Placed> placed;
  std::int64_t at = 0;
  for (const Box& box : wanted[static_cast<std::size_t>(rank)]) {
    add_box(placed, saved, box, at);
    at += numel_of(box);
  }
  return joined(std::move(placed));
}

}  // namespace lockstep::checkpoint
