// A bucket's flat tensor is made when its first gradient comes, and gradients move into it at once.
// What travels is reduced where it lies, and the sum is made when the next bucket starts.
#include <deque>
#include <utility>

#include "engine/parallel/zero/zero_2_gradients.hpp"

namespace lockstep::zero {
namespace {

class Moving final : public ShardedGradients {
 public:
  Moving(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
         collectives::BucketPlan plan, std::vector<FlatShards> cuts, DType sums)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        cuts_(std::move(cuts)),
        type_(sums),
        flat_(cuts_.size()),
        sums_(cuts_.size()),
        came_(cuts_.size()) {}

  void on_gradient_ready(std::size_t index) override {
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
      for (std::size_t k = 0; k < plan_.buckets[b].size(); ++k) {
        if (plan_.buckets[b][k] == index) enter(b, k, *parameters_[index]);
      }
    }
    for (; turn_ < came_.size() && came_[turn_] == plan_.buckets[turn_].size(); ++turn_) {
      settle();
      const std::int64_t s = cuts_[turn_].shard;
      flat_[turn_].scale_(1.0 / group_.size());
      range_ = flat_[turn_].narrow(group_.rank() * s, s);
      work_ = group_.reduce_scatter_async(flat_[turn_], range_, ReduceOp::sum);
    }
  }
  void finalize() override {
    settle();
    came_.assign(came_.size(), 0);
    turn_ = 0;
  }
  Tensor sum(std::size_t bucket) const override { return sums_[bucket]; }
  void zero_grad() override { sums_.assign(sums_.size(), Tensor()); }

 private:
  void enter(std::size_t b, std::size_t k, Parameter& parameter) {
    const Tensor& value = parameter.value;
    if (!flat_[b].defined()) {
      flat_[b] = zeros({cuts_[b].padded()}, value.dtype(), value.device(), MemoryKind::gradients);
    }
    if (parameter.grad.defined()) {
      flat_[b].narrow(cuts_[b].starts[k], value.numel()).copy_(parameter.grad.view({-1}));
    }
    parameter.grad = {};
    ++came_[b];
  }
  // The bucket in front of the one whose turn it is.
  void settle() {
    if (!range_.defined()) return;
    work_.wait();
    Tensor& sum = sums_[turn_ - 1];
    Tensor mine = range_.to(type_, MemoryKind::gradients);
    if (sum.defined()) mine.reduce_(sum, ReduceOp::sum);
    sum = mine;
    range_ = flat_[turn_ - 1] = {};
  }

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  collectives::BucketPlan plan_;
  std::vector<FlatShards> cuts_;
  DType type_;
  std::vector<Tensor> flat_, sums_;  // by bucket
  std::vector<std::size_t> came_;
  Tensor range_;  // of the bucket in flight
  comm::Work work_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<ShardedGradients> make_zero_2_gradients(comm::ProcessGroup& group,
                                                        std::vector<Parameter*> parameters,
                                                        const collectives::BucketPlan& plan,
                                                        std::vector<FlatShards> cuts, DType sums) {
  return std::make_unique<Moving>(group, std::move(parameters), plan, std::move(cuts), sums);
}

}  // namespace lockstep::zero
