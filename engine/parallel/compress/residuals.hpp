// Residuals: what a hook left out of each bucket, kept from one pass to the next.
//
// A residual belongs to a bucket, and DDP plans its buckets anew after the first pass (ddp.hpp). So
// nothing is left out in the first pass: the hooks that keep residuals reduce it in full, and begin
// to compress in the second. PyTorch's PowerSGD refuses to begin earlier for the same reason.
//
// Each rank has its own residuals, and a checkpoint does not hold them. A resumed run begins with a
// pass without compression and with residuals of zero. What was left out before the checkpoint is
// lost, so the run differs from one without interruption.
//
// With ErrorFeedback::off, what a pass leaves out is lost: the next pass begins with zeros.
//
// Where passes may leave parameters out (Unused::reduce), a residual can travel for a parameter
// that no rank used. DDP leaves the grad of such a parameter as it was, so that part is lost, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/collectives/bucket.hpp"

namespace lockstep::compress {

enum class ErrorFeedback : std::uint8_t { on, off };

class Residuals {
 public:
  explicit Residuals(ErrorFeedback feedback) : feedback_(feedback) {}

  // Begins a bucket's part of a pass. Buckets come in the order of their plan, the last one marked.
  //   Returns  the residual as the pass before left it, [elements of the bucket]; zeros in the
  //            second pass, and without feedback in each; undefined in the first pass, which is
  //            reduced in full
  //   Throws   ContractError when the bucket's size differs from that in the second pass
  Tensor next(const collectives::GradientBucket& bucket);

  std::int64_t passes() const { return passes_; }  // that have ended

 private:
  ErrorFeedback feedback_;
  std::int64_t passes_ = 0;
  std::vector<Tensor> residuals_;
};

}  // namespace lockstep::compress
