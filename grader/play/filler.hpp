// Large tensors that hold few numbers: each number stands in `filler` elements, one after the
// other, and crosses the wall to the judge once. So a case that is about memory costs little more
// than others.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/base/error.hpp"
#include "grader/play/case_world.hpp"

namespace lockstep::grader {

// Writes each number as often as there is room for it, all of them equally often.
inline void write_filled(const Tensor& to, const Bytes& numbers) {
  const std::size_t width = bytes_of(to.dtype());
  // Only these may go to a device whose memory the host cannot reach.
  const bool as_they_are = numbers.size() == width * static_cast<std::size_t>(to.numel());
  if (as_they_are) return write_bytes(to, numbers);
  const auto bytes = to.raw_bytes();
  if (numbers.empty() || bytes.size() % numbers.size() != 0) {
    throw Error("numbers that do not fill their tensor");
  }
  const std::size_t filler = bytes.size() / numbers.size();
  std::byte* to_next = bytes.data();
  for (std::size_t from = 0; from < numbers.size(); from += width) {
    for (std::size_t k = 0; k < filler; ++k, to_next += width) {
      std::memcpy(to_next, numbers.data() + from, width);
    }
  }
}

// The first of every `filler` elements.
inline Bytes numbers_in(const Tensor& tensor, std::int64_t filler) {
  if (filler == 1) return copy_of(tensor);
  const std::size_t width = bytes_of(tensor.dtype());
  const auto bytes = tensor.raw_bytes();
  Bytes numbers;
  for (std::size_t at = 0; at < bytes.size(); at += width * static_cast<std::size_t>(filler)) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    numbers.insert(numbers.end(), from, from + static_cast<std::ptrdiff_t>(width));
  }
  return numbers;
}

}  // namespace lockstep::grader
