#include "engine/parallel/ddp/reducer.hpp"

#include <utility>

namespace lockstep::ddp {
namespace {

using collectives::GradientBucket;

class BucketedReducer final : public Reducer {
 public:
  BucketedReducer(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
                  const collectives::BucketPlan& plan, const Reduction& reduction)
      : group_(group),
        reduction_(reduction),
        parameters_(std::move(parameters)),
        places_(parameters_.size()) {
    buckets_.reserve(plan.buckets.size());
    for (const auto& members : plan.buckets) add_bucket(members);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      LOCKSTEP_CHECK(places_[i].view.defined(), "make_bucketed_reducer: the plan has no place for ",
                     parameters_[i]->name, "; every parameter is in one bucket");
    }
    if (!buckets_.empty()) buckets_.back().content.last = true;
    for (std::size_t i = 0; i < places_.size(); ++i) parameters_[i]->grad_place = places_[i].view;
  }

  ~BucketedReducer() override {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Tensor& place = parameters_[i]->grad_place;
      if (place.defined() && place.same_place(places_[i].view)) place = {};
    }
  }
  BucketedReducer(const BucketedReducer&) = delete;
  BucketedReducer& operator=(const BucketedReducer&) = delete;

  void on_gradient_ready(std::size_t index) override {
    LOCKSTEP_CHECK(index < places_.size(), "on_gradient_ready: there is no parameter ", index,
                   " among ", places_.size());
    Place& place = places_[index];
    LOCKSTEP_CHECK(!place.ready, "on_gradient_ready: ", parameters_[index]->name,
                   " was ready before in this pass; call finalize() between passes");
    place.ready = true;
    enter(*parameters_[index], place.view);
    --buckets_[place.bucket].missing;
    while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
      Bucket& bucket = buckets_[next_++];
      bucket.work = reduction_.hook->start(group_, bucket.content);
    }
  }

  void finalize() override {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      LOCKSTEP_CHECK(places_[i].ready, "finalize: the gradient of ", parameters_[i]->name,
                     " did not come in this pass");
    }
    for (Bucket& bucket : buckets_) bucket.work.wait();
    for (Bucket& bucket : buckets_) bucket.missing = bucket.content.gradients.size();
    for (Place& place : places_) place.ready = false;
    next_ = 0;
  }

 private:
  struct Bucket {
    GradientBucket content;
    std::size_t missing = 0;  // gradients that are still to come in this pass
    comm::Work work;
  };
  // Where a parameter's gradient belongs.
  struct Place {
    std::size_t bucket = 0;
    Tensor view;
    bool ready = false;
  };

  void add_bucket(const std::vector<std::size_t>& members) {
    std::int64_t count = 0;
    for (const std::size_t member : members) {
      LOCKSTEP_CHECK(member < places_.size() && !places_[member].view.defined(),
                     "make_bucketed_reducer: the plan has parameter ", member,
                     " twice, or there is none among ", places_.size());
      count += parameters_[member]->value.numel();
    }
    const Tensor& like = parameters_[members.at(0)]->value;
    GradientBucket content{.index = buckets_.size(), .flat = {}, .gradients = {}};
    content.flat = group_.allocate_buffer(count, like.dtype(), like.device());
    content.flat.relabel(MemoryKind::gradients);
    std::int64_t start = 0;
    for (const std::size_t member : members) {
      const Tensor& value = parameters_[member]->value;
      LOCKSTEP_CHECK(value.dtype() == like.dtype(),
                     "make_bucketed_reducer: ", parameters_[member]->name, " is ",
                     name_of(value.dtype()), " in a bucket of ", name_of(like.dtype()));
      Place& place = places_[member];
      place.bucket = buckets_.size();
      place.view = content.flat.narrow(start, value.numel()).view(value.shape());
      content.gradients.push_back(place.view);
      start += value.numel();
    }
    const std::size_t missing = members.size();
    buckets_.push_back({std::move(content), missing, {}});
  }

  // The gradient, times its share, where it belongs. It is there already, unless it was made before
  // this reducer or by somebody else.
  void enter(Parameter& parameter, const Tensor& place) const {
    if (!parameter.grad.defined()) {
      place.fill_(0);
    } else {
      if (!place.same_place(parameter.grad)) place.copy_(parameter.grad);
      if (reduction_.share != 1) place.scale_(reduction_.share);
    }
    parameter.grad = place;
  }

  comm::ProcessGroup& group_;
  Reduction reduction_;
  std::vector<Parameter*> parameters_;
  std::vector<Place> places_;  // by parameter
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // the bucket whose turn it is
};

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  LOCKSTEP_CHECK(reduction.hook != nullptr, "make_bucketed_reducer: no hook to reduce a bucket");
  return std::make_unique<BucketedReducer>(group, std::move(parameters), plan, reduction);
}

}  // namespace lockstep::ddp
