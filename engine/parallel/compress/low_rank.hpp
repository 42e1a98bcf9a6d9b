// The pieces of PowerSGD (power_sgd.hpp): which gradients of a bucket travel as two thin matrices
// and where these lie, orthonormal columns, and the Q that a pass begins with.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.hpp"

namespace lockstep::compress {

// A compressed gradient: where it lies in the bucket, and where its P and Q lie among all P and Q.
struct Matrix {
  std::int64_t at, rows, columns, rank, p_at, q_at;
  Tensor of(const Tensor& flat) const {
    return flat.narrow(at, rows * columns).view({rows, columns});
  }
  Tensor p_of(const Tensor& first) const {
    return first.narrow(p_at, rows * rank).view({rows, rank});
  }
  Tensor q_of(const Tensor& qs) const {
    return qs.narrow(q_at, columns * rank).view({columns, rank});
  }
};

// An uncompressed gradient: where it lies in the bucket and in the first all-reduce.
struct Plain {
  std::int64_t at, count, first_at;
};

// The contents of both all-reduces. The first has the plain gradients and then all P, in the order
// of the bucket; the second has all Q.
struct Layout {
  std::vector<Matrix> matrices;
  std::vector<Plain> plain;
  std::int64_t plain_count = 0, first_count = 0, q_count = 0;
};

// True if P and Q of rank r are smaller than n × m elements by more than `compression_min`: (n +
// m)·r·compression_min < n·m.
//   Source  PyTorch's _should_compress (powerSGD_hook.py)
bool is_worth_compressing(std::int64_t rows, std::int64_t columns, std::int64_t rank,
                          double compression_min);

// Makes the columns of `matrix` [n, r] orthonormal, from left to right; a column of zeros stays
// zero. In float64, in a fixed order. Each column is made orthogonal to the earlier ones twice, so
// that nearly dependent columns become orthogonal, too.
//   Cost    4·n·r² FLOPs on the host; the matrix is read there
//   Source  the Gram-Schmidt process; [GLR05] on why twice is enough
void orthonormalize(const Tensor& matrix);

// Prepares `qs`, which holds all Q as the last pass left them, or zeros. Columns of zeros get
// random numbers from -1 to 1, and then the columns of each Q are made orthonormal. The result
// depends only on the arguments, so ranks that share them have the same Q.
//   seed  of this pass and bucket: matrix i draws element (row, column) as number row·r + column of
//         the stream random_bits(seed, i) (base/random.hpp)
void prepare_qs(const Layout& layout, const Tensor& qs, std::uint64_t seed);

}  // namespace lockstep::compress
