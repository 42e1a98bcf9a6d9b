#include "engine/parallel/compress/cast.hpp"

#include <utility>

#include "engine/parallel/compress/then.hpp"

namespace lockstep::compress {

comm::Work cast_reduce(comm::ProcessGroup& group, const Tensor& bucket, DType half) {
  LOCKSTEP_CHECK(half == DType::float16 || half == DType::bfloat16, "cast_reduce: ", name_of(half),
                 " has no 16 bits; pass float16 or bfloat16");
  LOCKSTEP_CHECK(!is_integer(bucket.dtype()), "cast_reduce: a bucket of ", name_of(bucket.dtype()),
                 " on rank ", group.rank(), "; gradients are floating point");
  bucket.scale_(1.0 / group.size());
  const Tensor small = bucket.to(half, MemoryKind::buffers);
  comm::Work sum = group.all_reduce_async(small, ReduceOp::sum);
  return then(group, std::move(sum), [bucket, small] { bucket.copy_(small.to(bucket.dtype())); });
}

}  // namespace lockstep::compress
