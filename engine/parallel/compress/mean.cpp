#include "engine/parallel/compress/mean.hpp"

namespace lockstep::compress {
namespace {

class MeanHook final : public collectives::CommHook {
 public:
  comm::Work start(comm::ProcessGroup& group, const collectives::GradientBucket& bucket) override {
    return mean_reduce(group, bucket.flat);
  }
};

}  // namespace

comm::Work mean_reduce(comm::ProcessGroup& group, const Tensor& bucket) {
  return group.all_reduce_async(bucket, ReduceOp::average);
}

std::unique_ptr<collectives::CommHook> make_mean_hook() { return std::make_unique<MeanHook>(); }

}  // namespace lockstep::compress
