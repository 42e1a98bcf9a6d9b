// PowerSGD: a gradient matrix G [n, m] travels as two thin matrices, P [n, r] and Q [m, r], whose
// product P·Qᵀ is close to the mean of the ranks' G. Each pass makes one step of subspace
// iteration:
//
//   G = gradient + residual               of this rank
//   P = mean of G·Q                       Q from the pass before: it converges over the passes
//   P = its columns made orthonormal
//   Q = mean of Gᵀ·P
//   the gradient becomes P·Qᵀ, the residual G - P·Qᵀ
//
// Both products are linear in G. So their means over the ranks are the products of the mean
// gradient, and all-reduces can carry them. The largest entries of top-k cannot be summed like
// that.
//
// Gradients with one axis, and matrices that would not shrink enough, travel as they are.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/collectives/bucket.hpp"
#include "engine/parallel/compress/residuals.hpp"

namespace lockstep::compress {

struct PowerSgdOptions {
  std::int64_t rank = 1;  // r; for a matrix, never more than its rows or columns
  // A matrix is compressed if it shrinks by more than this factor.
  double compression_min = 2;
  std::uint64_t seed = 0;                      // of the first Q; the same on every rank
  ErrorFeedback feedback = ErrorFeedback::on;  // of the hook; PyTorch's use_error_feedback
};

// The state that a rank keeps for a bucket from one pass to the next.
struct LowRankState {
  Tensor residual;  // [elements of the bucket], zeros at first
  Tensor qs;        // Q of each compressed matrix, [m, r], one after the other; undefined at first
};

// Begins the mean of a bucket, its matrices in rank r.
//   bucket    floating point; gradients [n, ...] are seen as matrices [n, the rest]
//   state     of this bucket; changed. Must outlive the Work
//   pass      counts passes, the same on every rank. random_bits(random_bits(options.seed, pass),
//             bucket.index) is the seed of prepare_qs: of the random columns of Q, in the first
//             pass and where a column became zero
//   Ensures   after wait(), each compressed gradient is P·Qᵀ, and state.residual is what P·Qᵀ
//             misses of this rank's G. P·Qᵀ is exact if the mean of G has a rank of r or less. The
//             other gradients are the mean, with residuals of zero. Each rank's share is multiplied
//             by 1/N before a sum, so no sum overflows if the mean fits.
//             A NaN or an infinity makes its matrix NaN on every rank, and the residual with it:
//             a diverged run stays visible.
//             P and Q have the same bits on every rank. Each rank computes P·Qᵀ itself, so the
//             results are equal if the ranks multiply with the same kernels
//   Comm      two all-reduces. The first has the uncompressed gradients and all P, and is in flight
//             when the function returns; the second has all Q, in wait(), and does not overlap. Per
//             matrix, (n + m)·r elements instead of n·m
//   Throws    ContractError for integers, ranks below 1, and a state of another bucket; CommError
//   Source    [VKJ19] Algorithms 1 and 2; PyTorch's powerSGD_hook, from which the residual against
//             the global P·Qᵀ (the paper takes the local one) and the orthonormal Q come
comm::Work power_sgd_reduce(comm::ProcessGroup& group, const collectives::GradientBucket& bucket,
                            LowRankState& state, const PowerSgdOptions& options, std::int64_t pass);

// The hook. The first pass is reduced in full, see residuals.hpp.
std::unique_ptr<collectives::CommHook> make_power_sgd(const PowerSgdOptions& options);

}  // namespace lockstep::compress
