// Gradients are views of the buckets after the first pass, without grad_place: finalize leaves the
// views in grad. Each bucket keeps the set of gradients that it still misses.
#include <set>

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/reducer.hpp"

namespace lockstep::ddp {
namespace {

class ViewReducer final : public Reducer {
 public:
  ViewReducer(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
              const collectives::BucketPlan& plan, const Reduction& reduction)
      : group_(group), parameters_(std::move(parameters)), reduction_(reduction) {
    views_.resize(parameters_.size());
    for (const auto& members : plan.buckets) {
      auto bucket = std::make_unique<Bucket>();
      bucket->members = members;
      bucket->missing = {members.begin(), members.end()};
      bucket->content.index = buckets_.size();
      std::int64_t count = 0;
      for (const std::size_t i : members) count += parameters_[i]->value.numel();
      const Tensor& like = parameters_[members[0]]->value;
      bucket->content.flat = group.allocate_buffer(count, like.dtype(), like.device());
      count = 0;
      for (const std::size_t i : members) {
        const Tensor& value = parameters_[i]->value;
        views_[i] = bucket->content.flat.narrow(count, value.numel()).view(value.shape());
        bucket->content.gradients.push_back(views_[i]);
        count += value.numel();
      }
      buckets_.push_back(std::move(bucket));
    }
    if (!buckets_.empty()) buckets_.back()->content.last = true;
  }

  void on_gradient_ready(std::size_t index) override {
    Parameter& parameter = *parameters_[index];
    if (!parameter.grad.defined()) views_[index].fill_(0);
    if (parameter.grad.defined() && !parameter.grad.same_place(views_[index])) {
      views_[index].copy_(parameter.grad);
    }
    views_[index].scale_(reduction_.share);
    parameter.grad = views_[index];
    for (auto& bucket : buckets_) bucket->missing.erase(index);
    for (auto& bucket : buckets_) {
      if (bucket->started) continue;
      if (!bucket->missing.empty()) break;
      bucket->started = true;
      bucket->work = reduction_.hook->start(group_, bucket->content);
    }
  }

  void finalize() override {
    for (const auto& bucket : buckets_) {
      if (bucket->missing.empty()) continue;
      throw ContractError("finalize: the gradient of " +
                          parameters_[*bucket->missing.begin()]->name + " is missing");
    }
    for (auto& bucket : buckets_) {
      bucket->work.wait();
      bucket->started = false;
      bucket->missing = {bucket->members.begin(), bucket->members.end()};
    }
  }

 private:
  struct Bucket {
    collectives::GradientBucket content;
    std::vector<std::size_t> members;
    std::set<std::size_t> missing;
    bool started = false;
    comm::Work work;
  };

  comm::ProcessGroup& group_;
  std::vector<Parameter*> parameters_;
  Reduction reduction_;
  std::vector<Tensor> views_;
  std::vector<std::unique_ptr<Bucket>> buckets_;
};

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  return std::make_unique<ViewReducer>(group, std::move(parameters), plan, reduction);
}

}  // namespace lockstep::ddp
