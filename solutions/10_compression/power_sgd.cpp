// Task: reduce a bucket in which each large matrix travels as two thin matrices. Decide which
// gradients shrink enough, and multiply each of them by its Q. All-reduce the products P together
// with the gradients that travel as they are. Make P orthonormal, multiply again, all-reduce the Q,
// and keep what P·Qᵀ leaves out. The contract is in engine/parallel/compress/power_sgd.hpp.
// low_rank.hpp beside it has the layout and orthonormal columns, and `then` makes a Work that goes
// on when the first all-reduce is over.
#include "engine/parallel/compress/power_sgd.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/random.hpp"
#include "engine/parallel/compress/continuation.hpp"
#include "engine/parallel/compress/low_rank.hpp"
#include "engine/tensor/broadcast.hpp"
#include "engine/tensor/matmul.hpp"

namespace lockstep::compress {

// >>> your code
namespace {

using ops::Transpose;

Layout layout_of(const collectives::GradientBucket& bucket, const PowerSgdOptions& options) {
  Layout layout;
  std::int64_t at = 0;
  for (const Tensor& gradient : bucket.gradients) {
    const std::int64_t count = gradient.numel();
    const std::int64_t rows = gradient.shape().empty() ? 1 : gradient.size(0);
    const std::int64_t columns = rows == 0 ? 0 : count / rows;
    const std::int64_t rank = std::min({rows, columns, options.rank});
    if (is_worth_compressing(rows, columns, rank, options.compression_min)) {
      layout.matrices.push_back({at, rows, columns, rank, layout.first_count, layout.q_count});
      layout.first_count += rows * rank;
      layout.q_count += columns * rank;
    } else if (count > 0) {
      layout.plain.push_back({at, count, layout.plain_count});
      layout.plain_count += count;
    }
    at += count;
  }
  layout.first_count += layout.plain_count;
  for (Matrix& matrix : layout.matrices) matrix.p_at += layout.plain_count;
  return layout;
}

// When the mean of P has come: Q, P·Qᵀ and what is left. `state.residual` holds this rank's G.
void finish_low_rank(comm::ProcessGroup& group, const Tensor& flat, const Layout& layout,
                     const Tensor& first, const LowRankState& state) {
  for (const Plain& plain : layout.plain) {
    flat.narrow(plain.at, plain.count).copy_(first.narrow(plain.first_at, plain.count));
    state.residual.narrow(plain.at, plain.count).fill_(0);
  }
  for (const Matrix& matrix : layout.matrices) {
    const Tensor p = matrix.p_of(first);
    orthonormalize(p);
    ops::matmul(matrix.of(state.residual), Transpose::yes, p, Transpose::no, matrix.q_of(state.qs));
  }
  if (layout.q_count > 0) {
    state.qs.scale_(1.0 / group.size());
    group.all_reduce(state.qs, ReduceOp::sum);
  }
  for (const Matrix& matrix : layout.matrices) {
    const Tensor approximation = matrix.of(flat);
    ops::matmul(matrix.p_of(first), Transpose::no, matrix.q_of(state.qs), Transpose::yes,
                approximation);
    const Tensor mine = matrix.of(state.residual);
    mine.copy_(ops::subtract(mine, approximation));
  }
}

}  // namespace
// <<< your code

comm::Work power_sgd_reduce(comm::ProcessGroup& group, const collectives::GradientBucket& bucket,
                            LowRankState& state, const PowerSgdOptions& options,
                            std::int64_t pass) {
  const Tensor& flat = bucket.flat;
  LOCKSTEP_CHECK(options.rank >= 1, "power_sgd_reduce: matrices of rank ", options.rank,
                 "; pass at least 1");
  LOCKSTEP_CHECK(!is_integer(flat.dtype()), "power_sgd_reduce: a bucket of ", name_of(flat.dtype()),
                 " on rank ", group.rank(), "; gradients are floating point");
  LOCKSTEP_CHECK(state.residual.numel() == flat.numel(), "power_sgd_reduce: a residual of ",
                 state.residual.numel(), " elements for bucket ", bucket.index, " of ",
                 flat.numel(), " on rank ", group.rank(), "; a state belongs to one bucket");
  // >>> your code
  const Layout layout = layout_of(bucket, options);
  if (!state.qs.defined()) state.qs = zeros({layout.q_count}, flat.dtype(), flat.device());
  LOCKSTEP_CHECK(state.qs.numel() == layout.q_count, "power_sgd_reduce: the Q of bucket ",
                 bucket.index, " have ", state.qs.numel(), " elements and need ", layout.q_count,
                 " on rank ", group.rank(), "; a state belongs to one bucket and rank of matrices");
  const std::uint64_t of_pass = random_bits(options.seed, static_cast<std::uint64_t>(pass));
  prepare_qs(layout, state.qs, random_bits(of_pass, bucket.index));
  state.residual.reduce_(flat, ReduceOp::sum);  // from here on this rank's G
  const Tensor first = flat.empty_like(layout.first_count);
  for (const Plain& plain : layout.plain) {
    first.narrow(plain.first_at, plain.count).copy_(state.residual.narrow(plain.at, plain.count));
  }
  for (const Matrix& matrix : layout.matrices) {
    ops::matmul(matrix.of(state.residual), Transpose::no, matrix.q_of(state.qs), Transpose::no,
                matrix.p_of(first));
  }
  first.scale_(1.0 / group.size());
  comm::Work work = group.all_reduce_async(first, ReduceOp::sum);
  return then(group, std::move(work), [&group, &state, flat, layout, first] {
    finish_low_rank(group, flat, layout, first, state);
  });
  // <<< your code
}

}  // namespace lockstep::compress
