// Walks along each row of the wanted boxes. At an element, it looks for the first source that has
// it; the stretch ends with that source's row, or where an earlier source begins.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {
namespace {

// A scalar is a row of one element.
Box with_axis(const Box& box) { return box.begin.empty() ? Box{{0}, {1}} : box; }

std::int64_t place_of(const Shape& at, const Box& box) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    place = place * (box.end[axis] - box.begin[axis]) + at[axis] - box.begin[axis];
  }
  return place;
}

bool has_row(const Box& box, const Shape& at) {
  for (std::size_t axis = 0; axis + 1 < at.size(); ++axis) {
    if (at[axis] < box.begin[axis] || at[axis] >= box.end[axis]) return false;
  }
  return true;
}

// From the element `at` on, to `stop` at most, which moves to where the stretch ends.
std::optional<Stretch> stretch_at(const ShardPlan& saved, const Shape& at, std::int64_t& stop) {
  for (std::size_t source = 0; source < saved.size(); ++source) {
    std::int64_t before = 0;
    for (const Box& one : saved[source]) {
      const Box box = with_axis(one);
      const std::int64_t begin = box.begin.back(), end = box.end.back(), here = at.back();
      if (has_row(box, at) && begin < end && here < end) {
        stop = std::min(stop, here < begin ? begin : end);
        if (here >= begin) {
          return Stretch{static_cast<int>(source), before + place_of(at, box), stop - here};
        }
      }
      before += numel_of(box);
    }
  }
  return std::nullopt;
}

void read_row(std::vector<Stretch>& all, const ShardPlan& saved, Shape at, std::int64_t end) {
  while (at.back() < end) {
    std::int64_t stop = end;
    const auto next = stretch_at(saved, at, stop);
    if (!next) throw CheckpointError("nobody has saved the element at " + lockstep::text_of(at));
    at.back() = stop;
    const bool goes_on = !all.empty() && all.back().source == next->source &&
                         all.back().offset + all.back().length == next->offset;
    if (goes_on) {
      all.back().length += next->length;
    } else {
      all.push_back(*next);
    }
  }
}

}  // namespace

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && std::cmp_less(rank, wanted.size()), "no rank ", rank);
  std::vector<Stretch> all;
  for (const Box& one : wanted[static_cast<std::size_t>(rank)]) {
    if (numel_of(one) == 0) continue;
    const Box box = with_axis(one);
    Shape at = box.begin;
    for (std::size_t axis = at.size(); axis > 0;) {
      read_row(all, saved, at, box.end.back());
      for (axis = at.size() - 1; axis > 0 && ++at[axis - 1] == box.end[axis - 1]; --axis) {
        at[axis - 1] = box.begin[axis - 1];
      }
    }
  }
  return all;
}

}  // namespace lockstep::checkpoint
