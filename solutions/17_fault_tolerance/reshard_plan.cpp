// Task: N ranks have saved a tensor, and M ranks load it. Decide what one of the M reads: which
// elements of which source, in the order in which the rank holds them. The contract is in
// engine/checkpoint/reshard_plan.hpp; boxes, and what can be done with them, are in
// engine/tensor/box.hpp.
#include "engine/checkpoint/reshard_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

// >>> your code
namespace {

// A stretch, and the place of its first element among those of the rank.
struct Placed {
  std::int64_t at;
  Stretch from;
};

// Adds what a box of the rank, whose elements begin at `at`, reads from a box of a source, whose
// elements begin at first.offset; `common` lies in both.
void add_rows(std::vector<Placed>& all, const Box& common, const Box& wanted, std::int64_t at,
              const Box& saved, const Stretch& first) {
  const std::vector<std::int64_t> here = rows_of(common, wanted), there = rows_of(common, saved);
  const std::int64_t row = numel_of(common) / std::ssize(here);
  for (std::size_t i = 0; i < here.size(); ++i) {
    all.push_back({at + here[i], {first.source, first.offset + there[i], row}});
  }
}

void add_box(std::vector<Placed>& all, const ShardPlan& saved, const Box& wanted, std::int64_t at) {
  Boxes missing{wanted};
  for (std::size_t source = 0; source < saved.size(); ++source) {
    Stretch first{static_cast<int>(source), 0, 0};
    for (const Box& box : saved[source]) {
      for (const Box& common : take(missing, {box})) {
        add_rows(all, common, wanted, at, box, first);
      }
      first.offset += numel_of(box);
    }
  }
  if (missing.empty() || numel_of(wanted) == 0) return;
  throw CheckpointError(text("reshard: no source holds ", text_of(missing.front())));
}

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

}  // namespace
// <<< your code

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < wanted.size(), "reshard: rank ",
                 rank, " of ", wanted.size(), "; ranks count from 0");
  // >>> your code
  std::vector<Placed> placed;
  std::int64_t at = 0;
  for (const Box& box : wanted[static_cast<std::size_t>(rank)]) {
    add_box(placed, saved, box, at);
    at += numel_of(box);
  }
  return joined(std::move(placed));
  // <<< your code
}

}  // namespace lockstep::checkpoint
