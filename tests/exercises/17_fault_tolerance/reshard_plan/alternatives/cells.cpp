// Cuts each wanted box at every bound of every saved one. Such a cell lies in a saved box as a
// whole or not at all, so one source gives all of it.
#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {
namespace {

void add_bound(std::vector<std::int64_t>& bounds, std::int64_t bound) {
  if (bound > bounds.front() && bound < bounds[1]) bounds.push_back(bound);
}

// The cells of a box that is not empty.
Boxes cells_of(const Box& wanted, const ShardPlan& saved) {
  Boxes cells{wanted};
  for (std::size_t axis = 0; axis < wanted.begin.size(); ++axis) {
    std::vector<std::int64_t> bounds{wanted.begin[axis], wanted.end[axis]};
    for (const Boxes& boxes : saved) {
      for (const Box& box : boxes) {
        add_bound(bounds, box.begin[axis]);
        add_bound(bounds, box.end[axis]);
      }
    }
    std::ranges::sort(bounds);
    const auto repeated = std::ranges::unique(bounds);
    bounds.erase(repeated.begin(), repeated.end());
    Boxes smaller;
    for (Box cell : cells) {
      for (std::size_t i = 1; i < bounds.size(); ++i) {
        cell.begin[axis] = bounds[i - 1];
        cell.end[axis] = bounds[i];
        smaller.push_back(cell);
      }
    }
    cells = std::move(smaller);
  }
  return cells;
}

// Puts the rows of a cell into the plan: by their places on the rank.
void read_cell(std::map<std::int64_t, Stretch>& plan, const Box& cell, const Box& wanted,
               std::int64_t at, const ShardPlan& saved) {
  for (std::size_t source = 0; source < saved.size(); ++source) {
    std::int64_t before = 0;
    for (const Box& box : saved[source]) {
      if (intersection(cell, box) == cell) {
        const auto here = rows_of(cell, wanted), there = rows_of(cell, box);
        for (std::size_t i = 0; i < here.size(); ++i) {
          plan[at + here[i]] = {static_cast<int>(source), before + there[i],
                                numel_of(cell) / std::ssize(here)};
        }
        return;
      }
      before += numel_of(box);
    }
  }
  throw CheckpointError("nobody has saved " + text_of(cell));
}

}  // namespace

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && std::cmp_less(rank, wanted.size()), "no rank ", rank);
  std::map<std::int64_t, Stretch> plan;
  std::int64_t at = 0;
  for (const Box& box : wanted[static_cast<std::size_t>(rank)]) {
    if (numel_of(box) == 0) continue;
    for (const Box& cell : cells_of(box, saved)) read_cell(plan, cell, box, at, saved);
    at += numel_of(box);
  }
  std::vector<Stretch> stretches;
  for (const auto& [place, one] : plan) {
    if (!stretches.empty() && stretches.back().source == one.source &&
        stretches.back().offset + stretches.back().length == one.offset) {
      stretches.back().length += one.length;
    } else {
      stretches.push_back(one);
    }
  }
  return stretches;
}

}  // namespace lockstep::checkpoint
