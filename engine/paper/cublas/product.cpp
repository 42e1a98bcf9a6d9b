// Reading, multiplying, writing.
#include "engine/paper/cublas/product.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/paper/lanes/half.hpp"

// One function, compiled for several processors; the loader takes the widest that this one has.
#if defined(__x86_64__) && !defined(__clang__)
#define PAPER_WIDEST \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define PAPER_WIDEST
#endif

namespace lockstep::paper {
namespace {

// c[i] += the sum over four terms of a[p][i] * b[p].
template <typename Sum>
inline void add_four(Sum* __restrict c, const Sum* __restrict a, std::int64_t step, const Sum* b,
                     std::int64_t count) {
  const Sum b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
  const Sum *a0 = a, *a1 = a + step, *a2 = a + 2 * step, *a3 = a + 3 * step;
  for (std::int64_t i = 0; i < count; ++i) {
    c[i] += (a0[i] * b0 + a1[i] * b1) + (a2[i] * b2 + a3[i] * b3);
  }
}

// c [m, n] += a [m, k] b [k, n], all by columns and without gaps; k is a multiple of 4. A block of
// a stays in the cache while all columns of c pass by it.
template <typename Sum>
inline void accumulate(const Sum* a, const Sum* b, Sum* c, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  constexpr std::int64_t rows_max = 512, terms_max = 64;
  for (std::int64_t row = 0; row < m; row += rows_max) {
    const std::int64_t rows = std::min(rows_max, m - row);
    for (std::int64_t first = 0; first < k; first += terms_max) {
      const std::int64_t end = std::min(first + terms_max, k);
      for (std::int64_t column = 0; column < n; ++column) {
        for (std::int64_t term = first; term < end; term += 4) {
          add_four(c + column * m + row, a + term * m + row, m, b + column * k + term, rows);
        }
      }
    }
  }
}

PAPER_WIDEST void accumulate_floats(const float* a, const float* b, float* c, std::int64_t m,
                                    std::int64_t n, std::int64_t k) {
  accumulate(a, b, c, m, n, k);
}

PAPER_WIDEST void accumulate_doubles(const double* a, const double* b, double* c, std::int64_t m,
                                     std::int64_t n, std::int64_t k) {
  accumulate(a, b, c, m, n, k);
}

// To the nearest number with 10 bits behind the point, ties away, as the tensor cores' conversion.
float tf32_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7F800000U) == 0x7F800000U) return value;
  bits = (bits + 0x1000U) & ~0x1FFFU;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename Stored>
Stored at(const std::byte* bytes, std::int64_t index) {
  Stored value;
  std::memcpy(&value, bytes + index * static_cast<std::int64_t>(sizeof(Stored)), sizeof(Stored));
  return value;
}

template <typename Sum>
Sum read(const std::byte* bytes, std::int64_t index, Element element) {
  switch (element) {
    case Element::float32:
      return static_cast<Sum>(at<float>(bytes, index));
    case Element::float64:
      return static_cast<Sum>(at<double>(bytes, index));
    case Element::bfloat16:
      return static_cast<Sum>(to_float(at<BFloat>(bytes, index)));
    case Element::float16:
      return static_cast<Sum>(to_float(at<Half>(bytes, index)));
  }
  return 0;
}

template <typename Sum>
void write(std::byte* bytes, std::int64_t index, Element element, Sum value) {
  const auto put = [&](auto stored) {
    std::memcpy(bytes + index * static_cast<std::int64_t>(sizeof stored), &stored, sizeof stored);
  };
  switch (element) {
    case Element::float32:
      return put(static_cast<float>(value));
    case Element::float64:
      return put(static_cast<double>(value));
    case Element::bfloat16:
      return put(bfloat_of(static_cast<float>(value)));
    case Element::float16:
      return put(half_of(static_cast<double>(value)));
  }
}

// Tells memory of the columns, or of all at once where nothing lies between them.
bool touch(LibraryMemory& memory, Touch how, const Factor& factor, std::uint64_t address) {
  const std::size_t column = static_cast<std::size_t>(factor.rows) * bytes_of(factor.element);
  if (factor.rows == factor.leading || factor.columns == 1) {
    return memory.touch(how, address, column * static_cast<std::size_t>(factor.columns));
  }
  for (std::int64_t j = 0; j < factor.columns; ++j) {
    const auto from = static_cast<std::uint64_t>(j * factor.leading) * bytes_of(factor.element);
    if (!memory.touch(how, address + from, column)) return false;
  }
  return true;
}

std::uint64_t address_of(const Factor& factor, std::int64_t in_batch) {
  const auto bytes = static_cast<std::int64_t>(bytes_of(factor.element));
  return factor.address + static_cast<std::uint64_t>(in_batch * factor.stride * bytes);
}

// The factor as [rows, columns] of the product, by columns: op(A), or op(B). Rows and columns past
// its own are 0.
template <typename Sum>
std::vector<Sum> packed(const Factor& factor, const std::byte* bytes, std::int64_t rows,
                        std::int64_t columns, Precision precision) {
  std::vector<Sum> whole(static_cast<std::size_t>(rows * columns));
  for (std::int64_t j = 0; j < factor.columns; ++j) {
    for (std::int64_t i = 0; i < factor.rows; ++i) {
      Sum value = read<Sum>(bytes, j * factor.leading + i, factor.element);
      if (precision == Precision::tf32)
        value = static_cast<Sum>(tf32_of(static_cast<float>(value)));
      const std::int64_t place = factor.turn == Turn::as_it_is ? j * rows + i : i * rows + j;
      whole[static_cast<std::size_t>(place)] = value;
    }
  }
  return whole;
}

template <typename Sum>
bool scale_of(const Scale& scale, LibraryMemory& memory, Sum& value) {
  value = static_cast<Sum>(scale.value);
  if (scale.address == 0) return true;
  if (!memory.touch(Touch::read, scale.address, sizeof(Sum))) return false;
  value = at<Sum>(memory.at(scale.address), 0);
  return true;
}

// Factors that are not multiplied by anything but 0 are not read, as in the BLAS.
template <typename Sum>
void multiply_as(const Product& product, LibraryMemory& memory) {
  Sum alpha = 0, beta = 0;
  if (!scale_of(product.alpha, memory, alpha) || !scale_of(product.beta, memory, beta)) return;
  const std::int64_t m = product.m, n = product.n;
  const std::int64_t k = alpha == 0 ? 0 : (product.k + 3) / 4 * 4;
  for (std::int64_t i = 0; i < product.batch; ++i) {
    const std::uint64_t a = address_of(product.a, i), b = address_of(product.b, i),
                        c = address_of(product.c, i);
    std::vector<Sum> sums(static_cast<std::size_t>(m * n));
    if (k > 0) {
      if (!touch(memory, Touch::read, product.a, a)) return;
      if (!touch(memory, Touch::read, product.b, b)) return;
      const auto left = packed<Sum>(product.a, memory.at(a), m, k, product.precision);
      const auto right = packed<Sum>(product.b, memory.at(b), k, n, product.precision);
      if constexpr (sizeof(Sum) == 4) {
        accumulate_floats(left.data(), right.data(), sums.data(), m, n, k);
      } else {
        accumulate_doubles(left.data(), right.data(), sums.data(), m, n, k);
      }
    }
    if (beta != 0 && !touch(memory, Touch::read, product.c, c)) return;
    if (!touch(memory, Touch::write, product.c, c)) return;
    std::byte* const result = memory.at(c);
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t row = 0; row < m; ++row) {
        const std::int64_t place = column * product.c.leading + row;
        Sum value = alpha * sums[static_cast<std::size_t>(column * m + row)];
        if (beta != 0) value += beta * read<Sum>(result, place, product.c.element);
        write(result, place, product.c.element, value);
      }
    }
  }
}

}  // namespace

std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::float32:
      return 4;
    case Element::float64:
      return 8;
    case Element::bfloat16:
    case Element::float16:
      return 2;
  }
  return 0;
}

std::uint64_t Factor::extent() const {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::uint64_t>((columns - 1) * leading + rows) * bytes_of(element);
}

void multiply(const Product& product, LibraryMemory& memory) {
  if (product.a.element == Element::float64) return multiply_as<double>(product, memory);
  multiply_as<float>(product, memory);
}

}  // namespace lockstep::paper
