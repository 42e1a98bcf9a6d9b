// Seen from one axis a tensor is [before, size, after]: narrow, widen and concatenate copy runs of
// `after` elements.
#include "engine/tensor/rearrange.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

struct Around {
  std::int64_t before = 1, size = 1, after = 1;
};

Around around(const char* operation, const Tensor& x, std::int64_t axis) {
  LOCKSTEP_CHECK(axis >= 0 && axis < std::ssize(x.shape()), operation, ": axis ", axis,
                 " of a tensor of shape ", text_of(x.shape()));
  Around parts;
  for (std::int64_t i = 0; i < std::ssize(x.shape()); ++i) {
    (i < axis ? parts.before : i == axis ? parts.size : parts.after) *= x.size(i);
  }
  return parts;
}

// Copies `length` indices of an axis, from index `from_start` of x to index `to_start` of y.
void copy_range(const Tensor& x, const Around& of_x, std::int64_t from_start, const Tensor& y,
                const Around& of_y, std::int64_t to_start, std::int64_t length) {
  const std::int64_t run = of_x.after;
  x.device().kernels().copy_runs(x,
                                 {.count = of_x.before,
                                  .length = length * run,
                                  .from_start = from_start * run,
                                  .from_step = of_x.size * run,
                                  .to_start = to_start * run,
                                  .to_step = of_y.size * run},
                                 y);
}

Tensor with_size(const Tensor& x, std::int64_t axis, std::int64_t size) {
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = size;
  return result(x, std::move(shape));
}

}  // namespace

Tensor transpose(const Tensor& x, std::int64_t axis_a, std::int64_t axis_b) {
  if (axis_a > axis_b) std::swap(axis_a, axis_b);
  around("transpose", x, axis_a);
  const Around b = around("transpose", x, axis_b);
  Shape shape = x.shape();
  std::swap(shape[static_cast<std::size_t>(axis_a)], shape[static_cast<std::size_t>(axis_b)]);
  Tensor y = result(x, std::move(shape));
  // x as [outer, a, middle, b, inner] → [outer, b, middle, a, inner]
  const Around a = around("transpose", x, axis_a);
  const std::int64_t inner = b.after,
                     middle = a.after / (b.size == 0 ? 1 : b.size) / (inner == 0 ? 1 : inner);
  if (x.numel() > 0) x.device().kernels().exchange(x, {a.before, a.size, middle, b.size, inner}, y);
  charge(x, 0, 2);
  return y;
}

Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  const Around of_x = around("narrow", x, axis);
  LOCKSTEP_CHECK(start >= 0 && length >= 0 && start <= of_x.size - length, "narrow: start ", start,
                 " and length ", length, " leave axis ", axis, " of ", text_of(x.shape()));
  Tensor y = with_size(x, axis, length);
  copy_range(x, of_x, start, y, around("narrow", y, axis), 0, length);
  charge(y, 0, 2);
  return y;
}

Tensor widen(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t size) {
  const Around of_x = around("widen", x, axis);
  LOCKSTEP_CHECK(start >= 0 && start <= size - of_x.size, "widen: ", text_of(x.shape()),
                 " placed at ", start, " leaves axis ", axis, " of size ", size);
  Tensor y = with_size(x, axis, size);
  y.fill_(0);
  copy_range(x, of_x, 0, y, around("widen", y, axis), start, of_x.size);
  charge(y, 0, 2);
  return y;
}

Tensor concatenate(std::span<const Tensor> parts, std::int64_t axis) {
  LOCKSTEP_CHECK(!parts.empty(), "concatenate: no parts; the result's shape would be unknown");
  std::int64_t size = 0;
  for (const Tensor& part : parts) {
    Shape expected = parts.front().shape();
    const std::int64_t of_part = around("concatenate", part, axis).size;
    if (axis < std::ssize(expected)) expected[static_cast<std::size_t>(axis)] = of_part;
    LOCKSTEP_CHECK(part.shape() == expected && part.dtype() == parts.front().dtype(),
                   "concatenate: ", name_of(part.dtype()), " ", text_of(part.shape()), " beside ",
                   name_of(parts.front().dtype()), " ", text_of(parts.front().shape()),
                   "; only axis ", axis, " may differ");
    size += of_part;
  }
  Tensor y = with_size(parts.front(), axis, size);
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    const Around of_part = around("concatenate", part, axis);
    copy_range(part, of_part, 0, y, around("concatenate", y, axis), at, of_part.size);
    at += of_part.size;
  }
  charge(y, 0, 2);
  return y;
}

}  // namespace lockstep::ops
