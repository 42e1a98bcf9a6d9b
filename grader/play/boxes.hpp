// Shapes and boxes of tensors across the wall.
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

}  // namespace lockstep
