// One update at a time is asked for, and the parameters of each bucket come up into a staging
// buffer of its own first. The wait for the last gradient stands for all, since copies down run one
// after the other.
#include <deque>

#include "engine/parallel/zero/offload_optimizer.hpp"

namespace lockstep::zero {
namespace {

class Staged final : public OffloadedOptimizer {
 public:
  Staged(OffloadHost& host, std::vector<Tensor> parameters, const AdamRule& rule) : host_(host) {
    for (Tensor& one : parameters) {
      const std::string number = std::to_string(buckets_.size()) + ".";
      Bucket& bucket = buckets_.emplace_back();
      bucket.update = {
          number + "master", number + "grad", number + "exp_avg", number + "exp_avg_sq", rule, 0};
      bucket.parameters = std::move(one);
      const std::int64_t count = bucket.parameters.numel();
      host_.allocate(bucket.update.master, count);
      host_.allocate(bucket.update.gradient, count);
      host_.allocate(bucket.update.first_moment, count);
      host_.allocate(bucket.update.second_moment, count);
      last_ = host_.copy_down(bucket.parameters, bucket.update.master);
    }
    last_.wait();
  }

  void on_gradient_shard(std::size_t bucket, const Tensor& gradient) override {
    last_ = host_.copy_down(gradient, buckets_.at(bucket).update.gradient);
    std::erase(came_, bucket);
    came_.push_front(bucket);
  }

  void step() override {
    last_.wait();
    std::vector<std::pair<Tensor, HostWork>> staged;
    std::vector<std::size_t> buckets(came_.begin(), came_.end());
    came_.clear();
    for (const std::size_t b : buckets) {
      ++buckets_[b].update.updates;
      host_.adam(buckets_[b].update).wait();
      const Tensor buffer = buckets_[b].parameters.empty_like(buckets_[b].parameters.numel());
      staged.emplace_back(buffer, host_.copy_up(buckets_[b].update.master, buffer));
    }
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      staged[i].second.wait();
      buckets_[buckets[i]].parameters.copy_(staged[i].first);
    }
  }

 private:
  struct Bucket {
    HostUpdate update;
    Tensor parameters;
  };
  OffloadHost& host_;
  std::vector<Bucket> buckets_;
  HostWork last_;
  std::deque<std::size_t> came_;
};

}  // namespace

std::unique_ptr<OffloadedOptimizer> make_offload_optimizer(OffloadHost& host,
                                                           std::vector<Tensor> parameters,
                                                           const AdamRule& rule) {
  return std::make_unique<Staged>(host, std::move(parameters), rule);
}

}  // namespace lockstep::zero
