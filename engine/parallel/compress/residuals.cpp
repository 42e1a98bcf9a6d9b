#include "engine/parallel/compress/residuals.hpp"

namespace lockstep::compress {

Tensor Residuals::next(const collectives::GradientBucket& bucket) {
  const std::int64_t pass = passes_;
  if (bucket.last) ++passes_;
  if (pass == 0) return {};
  if (bucket.index >= residuals_.size()) residuals_.resize(bucket.index + 1);
  Tensor& residual = residuals_[bucket.index];
  const Tensor& flat = bucket.flat;
  if (!residual.defined()) residual = zeros({flat.numel()}, flat.dtype(), flat.device());
  LOCKSTEP_CHECK(residual.numel() == flat.numel(), "compression: bucket ", bucket.index, " has ",
                 flat.numel(), " elements in pass ", pass + 1, ", but ", residual.numel(),
                 " were left out of it before; buckets may be planned anew after the first pass "
                 "only: make a new hook for a new plan");
  if (feedback_ == ErrorFeedback::off) residual.fill_(0);
  return residual;
}

}  // namespace lockstep::compress
