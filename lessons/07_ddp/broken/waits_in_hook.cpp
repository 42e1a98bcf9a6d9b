// Wrong on purpose: the hook waits for the all-reduce that it has started, so backward stands still
// until the bucket has arrived. It also starts each bucket as soon as that bucket is full, whatever
// the plan's order; on these runs, gradients come in one order on all ranks, and nobody notices.
#include <memory>
#include <utility>
#include <vector>

#include "engine/parallel/ddp/reducer.hpp"

namespace lockstep::ddp {
namespace {

class WaitingReducer final : public Reducer {
 public:
  WaitingReducer(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
                 const collectives::BucketPlan& plan, Reduction reduction)
      : group_(group),
        reduction_(reduction),
        parameters_(std::move(parameters)),
        places_(parameters_.size()) {
    for (const auto& members : plan.buckets) add_bucket(members);
    if (!buckets_.empty()) buckets_.back().content.last = true;
  }

  void on_gradient_ready(std::size_t index) override {
    const auto& [number, view] = places_[index];
    Bucket& bucket = buckets_[number];
    view.copy_(parameters_[index]->grad);
    view.scale_(reduction_.share);
    if (--bucket.missing > 0) return;
    reduction_.hook->start(group_, bucket.content).wait();
  }

  void finalize() override {
    for (std::size_t i = 0; i < places_.size(); ++i) parameters_[i]->grad.copy_(places_[i].view);
    for (Bucket& bucket : buckets_) bucket.missing = bucket.content.gradients.size();
  }

 private:
  struct Bucket {
    collectives::GradientBucket content;
    std::size_t missing = 0;
  };
  struct Place {
    std::size_t number = 0;  // of its bucket
    Tensor view;
  };

  void add_bucket(const std::vector<std::size_t>& members) {
    Bucket bucket{{.index = buckets_.size(), .flat = {}, .gradients = {}}, members.size()};
    std::int64_t count = 0;
    for (const std::size_t member : members) count += parameters_[member]->value.numel();
    const Tensor& like = parameters_[members.at(0)]->value;
    bucket.content.flat = group_.allocate_buffer(count, like.dtype(), like.device());
    std::int64_t start = 0;
    for (const std::size_t member : members) {
      const Tensor& value = parameters_[member]->value;
      const Tensor view = bucket.content.flat.narrow(start, value.numel()).view(value.shape());
      places_[member] = {buckets_.size(), view};
      bucket.content.gradients.push_back(view);
      start += value.numel();
    }
    buckets_.push_back(std::move(bucket));
  }

  comm::ProcessGroup& group_;
  Reduction reduction_;
  std::vector<Parameter*> parameters_;
  std::vector<Place> places_;
  std::vector<Bucket> buckets_;
};

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  return std::make_unique<WaitingReducer>(group, std::move(parameters), plan, reduction);
}

}  // namespace lockstep::ddp
