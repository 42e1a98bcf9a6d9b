#include "engine/tensor/box.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

// A box of `shape` moved by `by`.
Box moved(const Box& box, const Shape& by) {
  Box there = box;
  for (std::size_t i = 0; i < by.size(); ++i) {
    there.begin[i] += by[i];
    there.end[i] += by[i];
  }
  return there;
}

// The move that brings a box to the origin.
Shape to_origin(const Box& box) {
  Shape by = box.begin;
  for (std::int64_t& axis : by) axis = -axis;
  return by;
}

// Appends elements [begin, end) of the axes from `axis` on; on those before it, `box` is one place.
void add_range(Boxes& all, const Shape& shape, Box box, std::size_t axis, std::int64_t begin,
               std::int64_t end) {
  if (begin >= end) return;
  if (axis == shape.size()) {
    all.push_back(box);
    return;
  }
  std::int64_t row = 1;  // elements behind one place of this axis
  for (std::size_t i = axis + 1; i < shape.size(); ++i) row *= shape[i];
  // A part of the first row, whole rows, a part of the last one; the first may be the last.
  const std::int64_t first = (begin + row - 1) / row, last = end / row;
  const auto in_row = [&](std::int64_t place, std::int64_t from, std::int64_t to) {
    Box one = box;
    one.begin[axis] = place;
    one.end[axis] = place + 1;
    add_range(all, shape, one, axis + 1, from - place * row, to - place * row);
  };
  if (first > last) return in_row(last, begin, end);
  in_row(first - 1, begin, first * row);
  if (first < last) {
    box.begin[axis] = first;
    box.end[axis] = last;
    all.push_back(box);
  }
  in_row(last, last * row, end);
}

}  // namespace

Boxes whole_of(const Shape& shape) {
  Box box{shape, shape};
  std::ranges::fill(box.begin, 0);
  return {box};
}

bool is_whole(const Boxes& boxes, const Shape& shape) { return boxes == whole_of(shape); }

Shape shape_of(const Box& box) {
  Shape shape = box.end;
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] -= box.begin[i];
  return shape;
}

std::int64_t numel_of(const Box& box) { return numel_of(shape_of(box)); }

std::int64_t numel_of(const Boxes& boxes) {
  std::int64_t count = 0;
  for (const Box& box : boxes) count += numel_of(box);
  return count;
}

std::string text_of(const Box& box) { return text_of(box.begin) + "-" + text_of(box.end); }

std::optional<Box> intersection(const Box& one, const Box& other) {
  Box both = one;
  for (std::size_t i = 0; i < both.begin.size(); ++i) {
    both.begin[i] = std::max(one.begin[i], other.begin[i]);
    both.end[i] = std::min(one.end[i], other.end[i]);
    if (both.begin[i] >= both.end[i]) return std::nullopt;
  }
  return both;
}

Boxes without(const Box& box, const Box& hole) {
  const std::optional<Box> common = intersection(box, hole);
  if (!common) return {box};
  Boxes rest;
  Box left = box;  // what is not looked at yet: on the axes before, within the hole
  for (std::size_t i = 0; i < left.begin.size(); ++i) {
    Box before = left, after = left;
    before.end[i] = left.begin[i] = common->begin[i];
    after.begin[i] = left.end[i] = common->end[i];
    if (before.begin[i] < before.end[i]) rest.push_back(before);
    if (after.begin[i] < after.end[i]) rest.push_back(after);
  }
  return rest;
}

Boxes take(Boxes& missing, const Boxes& held) {
  Boxes taken;
  for (const Box& box : held) {
    Boxes rest;
    for (const Box& part : missing) {
      if (const auto common = intersection(part, box)) taken.push_back(*common);
      for (const Box& left : without(part, box)) rest.push_back(left);
    }
    missing = std::move(rest);
  }
  return taken;
}

std::vector<std::int64_t> rows_of(const Box& part, const Box& box) {
  const std::int64_t row = part.begin.empty() ? 1 : part.end.back() - part.begin.back();
  std::vector<std::int64_t> rows;
  for_runs(shape_of(box), moved(part, to_origin(box)), [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t at = 0; at < count; at += row) rows.push_back(first + at);
  });
  return rows;
}

Boxes range_of(const Boxes& boxes, std::int64_t begin, std::int64_t end) {
  LOCKSTEP_CHECK(0 <= begin && begin <= end && end <= numel_of(boxes), "range_of: elements ", begin,
                 " to ", end, " of a list of ", numel_of(boxes));
  Boxes range;
  std::int64_t first = 0;  // of the box, in the list
  for (const Box& box : boxes) {
    const Shape shape = shape_of(box);
    const std::int64_t count = numel_of(shape);
    Boxes inside;
    add_range(inside, shape, whole_of(shape).front(), 0, std::max<std::int64_t>(begin - first, 0),
              std::min(end - first, count));
    for (const Box& one : inside) range.push_back(moved(one, box.begin));
    first += count;
  }
  return range;
}

void for_runs(const Shape& shape, const Box& box,
              const std::function<void(std::int64_t first, std::int64_t count)>& run) {
  if (numel_of(box) == 0) return;
  // A run goes over the last axes, which are whole, and over the range of the axis before them.
  std::size_t outer = shape.size();
  std::int64_t row = 1;
  while (outer > 0 && box.begin[outer - 1] == 0 && box.end[outer - 1] == shape[outer - 1]) {
    row *= shape[--outer];
  }
  std::int64_t count = row, skipped = 0;
  if (outer > 0) {
    --outer;
    count = row * (box.end[outer] - box.begin[outer]);
    skipped = row * box.begin[outer];
    row *= shape[outer];
  }
  Shape at = box.begin;  // on the axes before
  while (true) {
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < outer; ++i) rows = rows * shape[i] + at[i];
    run(rows * row + skipped, count);
    std::size_t axis = outer;
    while (axis > 0 && ++at[axis - 1] == box.end[axis - 1]) {
      at[axis - 1] = box.begin[axis - 1];
      --axis;
    }
    if (axis == 0) return;
  }
}

Tensor cut(const Tensor& whole, const Boxes& boxes) {
  const Tensor part = whole.empty_like(numel_of(boxes)), flat = whole.view({-1});
  std::int64_t at = 0;
  for (const Box& box : boxes) {
    for_runs(whole.shape(), box, [&](std::int64_t first, std::int64_t count) {
      part.narrow(at, count).copy_(flat.narrow(first, count));
      at += count;
    });
  }
  return part;
}

void place(const Tensor& part, const Boxes& boxes, const Tensor& whole) {
  const Tensor from = part.view({-1}), flat = whole.view({-1});
  std::int64_t at = 0;
  for (const Box& box : boxes) {
    for_runs(whole.shape(), box, [&](std::int64_t first, std::int64_t count) {
      flat.narrow(first, count).copy_(from.narrow(at, count));
      at += count;
    });
  }
}

Tensor cut_of_part(const Tensor& part, const Boxes& boxes, const Boxes& wanted) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // in the part: the first, and how many
  for (const Box& want : wanted) {
    std::int64_t before = 0;  // the box that has it, in the part
    const auto holder = std::ranges::find_if(boxes, [&](const Box& box) {
      if (intersection(box, want) == want) return true;
      before += numel_of(box);
      return false;
    });
    LOCKSTEP_CHECK(holder != boxes.end(), "cut_of_part: no box holds ", text_of(want));
    const Box here = moved(want, to_origin(*holder));
    for_runs(shape_of(*holder), here, [&](std::int64_t first, std::int64_t count) {
      const bool follows =
          !runs.empty() && runs.back().first + runs.back().second == before + first;
      if (follows) {
        runs.back().second += count;
      } else {
        runs.emplace_back(before + first, count);
      }
    });
  }
  const Tensor all = part.view({-1});
  if (runs.size() == 1) return all.narrow(runs.front().first, runs.front().second);
  const Tensor found = part.empty_like(numel_of(wanted));
  std::int64_t at = 0;
  for (const auto& [first, count] : runs) {
    found.narrow(at, count).copy_(all.narrow(first, count));
    at += count;
  }
  return found;
}

}  // namespace lockstep
