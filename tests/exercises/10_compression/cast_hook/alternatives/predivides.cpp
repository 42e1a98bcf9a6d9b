// Divides by a factor before the sum and by the rest after it (the predivide factor of Apex): less
// underflow before, less overflow than without. A power of two as the first factor rounds nothing.
#include <utility>

#include "engine/parallel/compress/cast.hpp"
#include "engine/parallel/compress/continuation.hpp"

namespace lockstep::compress {

comm::Work cast_reduce(comm::ProcessGroup& group, const Tensor& bucket, DType half) {
  double before = 1;
  while (before * before < group.size()) before *= 2;
  bucket.scale_(1 / before);
  const Tensor small = bucket.to(half, MemoryKind::buffers);
  comm::Work sum = group.all_reduce_async(small, ReduceOp::sum);
  const double after = before / group.size();
  return then(group, std::move(sum), [bucket, small, after] {
    bucket.copy_(small.to(bucket.dtype()));
    bucket.scale_(after);
  });
}

}  // namespace lockstep::compress
