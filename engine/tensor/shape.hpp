// Shape: the sizes of a tensor's axes, kept in place. Making, copying and cutting one allocates
// nothing: a part that passes messages makes a view of a tensor for each of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "engine/base/error.hpp"

namespace lockstep {

// Used like a std::vector<std::int64_t>, of at most axes_max sizes.
class Shape {
 public:
  using value_type = std::int64_t;
  static constexpr std::size_t axes_max = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) push_back(size);
  }

  // Throws ContractError when there are axes_max already.
  void push_back(std::int64_t size) {
    if (axes_ == axes_max) refuse_axis();
    sizes_[axes_++] = size;
  }
  void pop_back() { --axes_; }
  void erase(std::int64_t* at) {
    std::copy(at + 1, end(), at);
    --axes_;
  }
  void clear() { axes_ = 0; }

  bool empty() const { return axes_ == 0; }
  std::size_t size() const { return axes_; }
  std::int64_t* begin() { return sizes_.data(); }
  std::int64_t* end() { return sizes_.data() + axes_; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + axes_; }
  std::int64_t& operator[](std::size_t axis) { return sizes_[axis]; }
  std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  std::int64_t& front() { return sizes_[0]; }
  std::int64_t front() const { return sizes_[0]; }
  std::int64_t& back() { return sizes_[axes_ - 1]; }
  std::int64_t back() const { return sizes_[axes_ - 1]; }

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] static void refuse_axis();

  std::array<std::int64_t, axes_max> sizes_{};  // the first axes_ of them
  std::size_t axes_ = 0;
};

std::int64_t numel_of(const Shape& shape);
std::string text_of(const Shape& shape);  // "[64, 10]"

}  // namespace lockstep
