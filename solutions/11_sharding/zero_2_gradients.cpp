// Task: reduce gradients to their owners while backward still computes others, and let the rest go.
// The contract is in engine/parallel/zero/zero_2_gradients.hpp, the cuts of buckets are in
// engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/zero_2_gradients.hpp"

#include <utility>

namespace lockstep::zero {
namespace {

class Zero2 final : public ShardedGradients {
 public:
  Zero2(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
        const collectives::BucketPlan& plan, std::vector<FlatShards> cuts, DType sums)
      : group_(group),
        parameters_(std::move(parameters)),
        sums_(sums),
        bucket_of_(parameters_.size()) {
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
      Bucket& bucket = buckets_.emplace_back();
      bucket.members = plan.buckets[b];
      bucket.cut = std::move(cuts[b]);
      bucket.missing = bucket.members.size();
      for (const std::size_t member : bucket.members) bucket_of_[member] = b;
    }
  }

  void on_gradient_ready(std::size_t index) override;
  void finalize() override;
  Tensor sum(std::size_t bucket) const override { return buckets_[bucket].sum; }
  void zero_grad() override {
    for (Bucket& bucket : buckets_) bucket.sum = {};
  }

 private:
  struct Bucket {
    std::vector<std::size_t> members;  // parameters
    FlatShards cut;
    std::size_t missing = 0;  // gradients that are still to come in this pass
    Tensor flat;              // [N·S] from its start to its end
    Tensor incoming;          // [S] this rank's range of the mean, when work is over
    comm::Work work;
    Tensor sum;  // [S] of sums_, since zero_grad
  };

  // Copies the bucket's gradients into one tensor, takes them from the parameters, and starts
  // their reduction.
  void start(Bucket& bucket);
  // Waits for a bucket that has started, adds what came to its sum, and lets its tensors go.
  void end(Bucket& bucket);

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  DType sums_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // the bucket whose turn it is
};

void Zero2::start(Bucket& bucket) {
  // >>> your code
  const Tensor& like = parameters_[bucket.members.front()]->value;
  bucket.flat = zeros({bucket.cut.padded()}, like.dtype(), like.device(), MemoryKind::gradients);
  for (std::size_t k = 0; k < bucket.members.size(); ++k) {
    Tensor& grad = parameters_[bucket.members[k]]->grad;
    if (!grad.defined()) continue;
    bucket.flat.narrow(bucket.cut.starts[k], grad.numel()).copy_(grad.view({-1}));
    grad = {};
  }
  bucket.flat.scale_(1.0 / group_.size());
  bucket.incoming = bucket.flat.empty_like(bucket.cut.shard);
  bucket.work = group_.reduce_scatter_async(bucket.flat, bucket.incoming, ReduceOp::sum);
  // <<< your code
}

void Zero2::end(Bucket& bucket) {
  // >>> your code
  bucket.work.wait();
  const Tensor mean = bucket.incoming.to(sums_, MemoryKind::gradients);
  if (bucket.sum.defined()) {
    bucket.sum.reduce_(mean, ReduceOp::sum);
  } else {
    bucket.sum = mean;
  }
  bucket.flat = bucket.incoming = {};
  // <<< your code
}

void Zero2::on_gradient_ready(std::size_t index) {
  // >>> your code
  --buckets_[bucket_of_[index]].missing;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
    if (next_ > 0) end(buckets_[next_ - 1]);
    start(buckets_[next_++]);
  }
  // <<< your code
}

void Zero2::finalize() {
  // >>> your code
  end(buckets_.back());
  for (Bucket& bucket : buckets_) bucket.missing = bucket.members.size();
  next_ = 0;
  // <<< your code
}

}  // namespace

std::unique_ptr<ShardedGradients> make_zero_2_gradients(comm::ProcessGroup& group,
                                                        std::vector<Parameter*> parameters,
                                                        const collectives::BucketPlan& plan,
                                                        std::vector<FlatShards> cuts, DType sums) {
  return std::make_unique<Zero2>(group, std::move(parameters), plan, std::move(cuts), sums);
}

}  // namespace lockstep::zero
