// Task: reduce gradients to their owners while backward still computes others, and let the rest go.
// The contract is in engine/parallel/zero/zero_2_gradients.hpp, the cuts of buckets are in
// engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/zero_2_gradients.hpp"

#include <utility>

#include "engine/base/error.hpp"

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
  // Avoids warnings about parameters that are not used yet.
  (void)bucket;
  throw NotImplemented("zero_2_gradients");
  // <<< your code
}

void Zero2::end(Bucket& bucket) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)bucket;
  throw NotImplemented("zero_2_gradients");
  // <<< your code
}

void Zero2::on_gradient_ready(std::size_t index) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)index;
  throw NotImplemented("zero_2_gradients");
  // <<< your code
}

void Zero2::finalize() {
  // >>> your code
  throw NotImplemented("zero_2_gradients");
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
