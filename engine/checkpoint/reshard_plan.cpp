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

// The first elements of the rows of `part` among those of `box`, row-major; part lies in box.
std::vector<std::int64_t> rows_of(const Box& part, const Box& box) {
  Shape back = box.begin;
  Box inside = part;
  for (std::size_t i = 0; i < back.size(); ++i) {
    inside.begin[i] -= back[i];
    inside.end[i] -= back[i];
  }
  const std::int64_t row = part.begin.empty() ? 1 : part.end.back() - part.begin.back();
  std::vector<std::int64_t> rows;
  for_runs(shape_of(box), inside, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t at = 0; at < count; at += row) rows.push_back(first + at);
  });
  return rows;
}

// Adds the elements that a box of the rank, whose own come from `at` on, takes from one box of a
// source.
void add_common(std::vector<Placed>& all, const Box& wanted, std::int64_t at, const Box& saved,
                const Stretch& first, const Box& common) {
  const std::int64_t row = common.begin.empty() ? 1 : common.end.back() - common.begin.back();
  const std::vector<std::int64_t> here = rows_of(common, wanted), there = rows_of(common, saved);
  for (std::size_t i = 0; i < here.size(); ++i) {
    all.push_back({at + here[i], {first.source, first.offset + there[i], row}});
  }
}

// The plan of one box, whose elements come from `at` on.
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
  std::vector<Placed> placed;
  std::int64_t at = 0;
  for (const Box& box : wanted.at(static_cast<std::size_t>(rank))) {
    add_box(placed, saved, box, at);
    at += numel_of(box);
  }
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

}  // namespace lockstep::checkpoint
