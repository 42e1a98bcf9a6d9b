// Parts of a tensor: boxes, which have a range on each axis, and lists of them. The elements of a
// list lie one box after the other, each row-major; a rank that holds a part of a tensor holds them
// in this order.
//
//   rows 2 to 4 of [8, 6]                  one box    [2, 0]-[4, 6]
//   columns 2 to 4                         one box    [0, 2]-[8, 4]
//   elements 4 to 20 of the flat tensor    three      [0, 4]-[1, 6], [1, 0]-[3, 6], [3, 0]-[4, 2]
//   query, key and value of one head, whose rows stand in a [3·C, C] one after the other: three
//   a flat range of any of these: range_of
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep {

// On axis i the range [begin[i], end[i]). Without axes: the one element of a scalar.
struct Box {
  Shape begin, end;
  bool operator==(const Box&) const = default;
};
using Boxes = std::vector<Box>;

Boxes whole_of(const Shape& shape);  // one box
bool is_whole(const Boxes& boxes, const Shape& shape);
Shape shape_of(const Box& box);
std::int64_t numel_of(const Box& box);
std::int64_t numel_of(const Boxes& boxes);
std::string text_of(const Box& box);  // "[2, 0]-[4, 6]"

// The elements of both; none: there are none. Boxes have as many axes.
std::optional<Box> intersection(const Box& one, const Box& other);
// The elements of `box` that are not in `hole`: at most two boxes an axis, which do not overlap.
Boxes without(const Box& box, const Box& hole);
// Moves what lies in `held` from `missing` to the result, in the order of `held`.
Boxes take(Boxes& missing, const Boxes& held);
// The places of the rows of `part` among the elements of `box`: that of the first element of each,
// in order. A row is a range of the last axis; a scalar is one.
//   Requires  part lies in box
std::vector<std::int64_t> rows_of(const Box& part, const Box& box);
// Elements [begin, end) of a list.
//   Ensures  in their order; at most 2·axes - 1 boxes for each box of the list, none of them empty
Boxes range_of(const Boxes& boxes, std::int64_t begin, std::int64_t end);

// The elements of a box as they lie in a row-major tensor of `shape`: run(first, count), in order.
void for_runs(const Shape& shape, const Box& box,
              const std::function<void(std::int64_t first, std::int64_t count)>& run);

// The elements of `boxes`, copied out of the whole tensor.
Tensor cut(const Tensor& whole, const Boxes& boxes);
// The reverse: `part` is put where it belongs.
void place(const Tensor& part, const Boxes& boxes, const Tensor& whole);
// The elements of `wanted` of a part that holds `boxes`: a view, where they lie in it one behind
// the other, or else a copy.
//   Requires  each wanted box lies in one of `boxes`
Tensor cut_of_part(const Tensor& part, const Boxes& boxes, const Boxes& wanted);

}  // namespace lockstep
