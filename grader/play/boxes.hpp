// Shapes and boxes of tensors across the wall, and the elements of boxes, one by one.
#pragma once

#include <vector>

#include "engine/base/fields.hpp"
#include "engine/tensor/box.hpp"

namespace lockstep {

template <typename Archive>
void fields(Archive& archive, Shape& shape) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  archive(sizes);
  if (sizes.size() > Shape::axes_max) throw MalformedMessage("a shape has too many axes");
  shape.clear();
  for (const std::int64_t size : sizes) shape.push_back(size);
}
template <typename Archive>
void fields(Archive& archive, Box& box) {
  archive(box.begin, box.end);
}

namespace grader {

// The numbers of a list's elements in the whole tensor, in its order.
inline std::vector<std::int64_t> numbers_of(const Shape& shape, const Boxes& boxes) {
  std::vector<std::int64_t> numbers;
  for (const Box& box : boxes) {
    for_runs(shape, box, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) numbers.push_back(first + i);
    });
  }
  return numbers;
}

}  // namespace grader
}  // namespace lockstep
