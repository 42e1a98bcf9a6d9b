// The product of matrices, C := alpha op(A) op(B) + beta C, as an operation of a stream sees it:
// columns lie one after another, `leading` elements from one to the next. It says what it touches
// (columns, not the padding between them), and where beta is 0 it does not read C.
//
// Sums are of float32, or of float64 for matrices of float64. They are taken four terms at a time,
// on purpose: cuBLAS has an order of its own too, which differs from version to version and from
// shape to shape, and nobody may rely on the bits of one.
#pragma once

#include <cstdint>

#include "engine/paper/order/library.hpp"

namespace lockstep::paper {

enum class Element { float32, float64, bfloat16, float16 };
std::size_t bytes_of(Element element);

enum class Turn { as_it_is, transposed };

// Tensor cores may take a float32 factor with 10 bits of its 23.
enum class Precision { full, tf32 };

struct Factor {
  std::uint64_t address = 0;
  Element element = Element::float32;
  Turn turn = Turn::as_it_is;
  std::int64_t rows = 0, columns = 0;  // as it is stored
  std::int64_t leading = 0;
  std::int64_t stride = 0;  // elements from one of the batch to the next

  // Bytes from the first to behind the last of one matrix.
  std::uint64_t extent() const;
};

// A number that the host gave, or that lies on the device until the product runs.
struct Scale {
  double value = 0;
  std::uint64_t address = 0;  // not 0: there, of the type of the sums
};

struct Product {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Factor a, b, c;
  Scale alpha, beta;
  Precision precision = Precision::full;
};

// Carries it out. Stops at the first bytes that it must not touch.
void multiply(const Product& product, LibraryMemory& memory);

}  // namespace lockstep::paper
