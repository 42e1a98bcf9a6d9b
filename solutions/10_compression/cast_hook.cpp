// Task: average a bucket whose elements travel in 16 bits. Multiply by 1/N in the bucket's own
// type, convert to `half`, start the all-reduce of the halves, and return a Work whose wait()
// brings the sum back into the bucket. The contract is in engine/parallel/compress/cast.hpp;
// `then`, beside it, makes such a Work.
#include "engine/parallel/compress/cast.hpp"

#include <utility>

#include "engine/parallel/compress/continuation.hpp"

namespace lockstep::compress {

comm::Work cast_reduce(comm::ProcessGroup& group, const Tensor& bucket, DType half) {
  LOCKSTEP_CHECK(half == DType::float16 || half == DType::bfloat16, "cast_reduce: ", name_of(half),
                 " has no 16 bits; pass float16 or bfloat16");
  LOCKSTEP_CHECK(!is_integer(bucket.dtype()), "cast_reduce: a bucket of ", name_of(bucket.dtype()),
                 " on rank ", group.rank(), "; gradients are floating point");
  // >>> your code
  bucket.scale_(1.0 / group.size());
  const Tensor small = bucket.to(half, MemoryKind::buffers);
  comm::Work sum = group.all_reduce_async(small, ReduceOp::sum);
  return then(group, std::move(sum), [bucket, small] { bucket.copy_(small.to(bucket.dtype())); });
  // <<< your code
}

}  // namespace lockstep::compress
