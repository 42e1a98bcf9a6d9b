// A right reduction that keeps a copy of each bucket from the second pass on, in memory of its own:
// the device's account knows nothing of it.
#include <utility>

#include "engine/parallel/zero/zero_2_gradients.hpp"

#ifndef LOCKSTEP_HOARD
#define LOCKSTEP_HOARD std::vector<std::byte>
#endif

namespace lockstep::zero {
namespace {

class BucketHoard final : public ShardedGradients {
 public:
  BucketHoard(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
              collectives::BucketPlan plan, std::vector<FlatShards> cuts, DType type)
      : group_(group),
        parameters_(std::move(parameters)),
        plan_(std::move(plan)),
        cuts_(std::move(cuts)),
        type_(type),
        sums_(cuts_.size()),
        came_(parameters_.size()) {}

  Tensor sum(std::size_t bucket) const override { return sums_[bucket]; }
  void zero_grad() override { sums_.assign(sums_.size(), Tensor()); }
  void on_gradient_ready(std::size_t index) override {
    came_[index] = true;
    while (turn_ < cuts_.size() && is_full(turn_)) {
      end();
      start(turn_++);
    }
  }
  void finalize() override {
    end();
    came_.assign(came_.size(), false);
    turn_ = 0;
    hoard_.clear();
    is_second_ = true;
  }

 private:
  bool is_full(std::size_t bucket) const {
    for (const std::size_t i : plan_.buckets[bucket]) {
      if (!came_[i]) return false;
    }
    return true;
  }
  void start(std::size_t b) {
    const Tensor& like = parameters_[plan_.buckets[b].front()]->value;
    flat_ = zeros({cuts_[b].padded()}, like.dtype(), like.device());
    for (std::size_t k = 0; k < plan_.buckets[b].size(); ++k) {
      Tensor& grad = parameters_[plan_.buckets[b][k]]->grad;
      if (!grad.defined()) continue;
      flat_.narrow(cuts_[b].starts[k], grad.numel()).copy_(grad.view({-1}));
      grad = {};
    }
    const auto bytes = flat_.raw_bytes();
    if (is_second_) hoard_.emplace_back().assign(bytes.begin(), bytes.end());
    flat_.scale_(1.0 / group_.size());
    mine_ = flat_.empty_like(cuts_[b].shard);
    work_ = group_.reduce_scatter_async(flat_, mine_, ReduceOp::sum);
  }
  void end() {
    if (!mine_.defined()) return;
    work_.wait();
    Tensor& sum = sums_[turn_ - 1];
    const Tensor mean = mine_.to(type_);
    if (sum.defined()) mean.reduce_(sum, ReduceOp::sum);
    sum = mean;
    flat_ = mine_ = {};
  }

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  collectives::BucketPlan plan_;
  std::vector<FlatShards> cuts_;
  DType type_;
  std::vector<Tensor> sums_;
  std::vector<bool> came_;
  std::size_t turn_ = 0;
  Tensor flat_, mine_;
  comm::Work work_;
  std::vector<LOCKSTEP_HOARD> hoard_;
  bool is_second_ = false;
};

}  // namespace

std::unique_ptr<ShardedGradients> make_zero_2_gradients(comm::ProcessGroup& group,
                                                        std::vector<Parameter*> parameters,
                                                        const collectives::BucketPlan& plan,
                                                        std::vector<FlatShards> cuts, DType sums) {
  return std::make_unique<BucketHoard>(group, std::move(parameters), plan, std::move(cuts), sums);
}

}  // namespace lockstep::zero
