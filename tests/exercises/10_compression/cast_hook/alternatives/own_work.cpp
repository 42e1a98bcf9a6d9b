// A Pending of its own instead of `then`, and a copy that is scaled instead of the bucket.
#include <memory>
#include <utility>

#include "engine/parallel/compress/cast.hpp"

namespace lockstep::compress {
namespace {

class CastBack final : public comm::Pending {
 public:
  CastBack(comm::Work sum, Tensor small, Tensor bucket)
      : sum_(std::move(sum)), small_(std::move(small)), bucket_(std::move(bucket)) {}
  void wait() override {
    sum_.wait();
    bucket_.copy_(small_.to(bucket_.dtype()));
  }

 private:
  comm::Work sum_;
  Tensor small_, bucket_;
};

}  // namespace

comm::Work cast_reduce(comm::ProcessGroup& group, const Tensor& bucket, DType half) {
  const Tensor share = bucket.to(bucket.dtype());
  share.scale_(1.0 / group.size());
  const Tensor small = share.to(half);
  comm::Work sum = group.all_reduce_async(small, ReduceOp::sum);
  return comm::Work(std::make_unique<CastBack>(std::move(sum), small, bucket));
}

}  // namespace lockstep::compress
