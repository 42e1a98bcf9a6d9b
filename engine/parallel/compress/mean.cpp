#include "engine/parallel/compress/mean.hpp"

namespace lockstep::compress {

comm::Work mean_reduce(comm::ProcessGroup& group, const Tensor& bucket) {
  return group.all_reduce_async(bucket, ReduceOp::average);
}

}  // namespace lockstep::compress
