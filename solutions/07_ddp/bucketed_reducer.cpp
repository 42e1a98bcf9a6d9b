// Task: reduce gradients while backward still computes others. Each gradient that is final goes
// into its bucket. When the next bucket of the plan is full, its reduction starts, and nothing
// waits for it before finalize. Gradients may come in a different order on each rank; the buckets
// start in the order of the plan on all of them. The contract is in
// engine/parallel/ddp/reducer.hpp, buckets and hooks are in engine/collectives/bucket.hpp.
//
// In the reference, gradients lie in their buckets from the beginning (Parameter::grad_place), so
// that nothing is copied back. A separate buffer per bucket, filled by copies and copied back in
// finalize, passes too.
#include "engine/parallel/ddp/reducer.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace lockstep::ddp {
namespace {

using collectives::GradientBucket;

// The plan has each parameter in one bucket, and one dtype in each bucket.
void check_plan(const std::vector<Parameter*>& parameters, const collectives::BucketPlan& plan) {
  std::vector<int> places(parameters.size());
  for (const auto& members : plan.buckets) {
    for (const std::size_t member : members) {
      LOCKSTEP_CHECK(member < places.size() && ++places[member] == 1,
                     "make_bucketed_reducer: the plan has parameter ", member,
                     " twice, or there is none among ", places.size());
      const DType dtype = parameters[member]->value.dtype();
      const DType first = parameters[members[0]]->value.dtype();
      LOCKSTEP_CHECK(dtype == first, "make_bucketed_reducer: ", parameters[member]->name, " is ",
                     name_of(dtype), " in a bucket of ", name_of(first));
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    LOCKSTEP_CHECK(places[i] == 1, "make_bucketed_reducer: the plan has no place for ",
                   parameters[i]->name, "; every parameter is in one bucket");
  }
}

// >>> your code
class BucketedReducer final : public Reducer {
 public:
  BucketedReducer(comm::ProcessGroup& group, std::vector<Parameter*> parameters,
                  const collectives::BucketPlan& plan, const Reduction& reduction)
      : group_(group),
        reduction_(reduction),
        parameters_(std::move(parameters)),
        places_(parameters_.size()) {
    buckets_.reserve(plan.buckets.size());  // a hook may look at a bucket until its Work is over
    for (const auto& members : plan.buckets) add_bucket(members);
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
    for (const std::size_t member : members) count += parameters_[member]->value.numel();
    const Tensor& like = parameters_[members.at(0)]->value;
    GradientBucket content{.index = buckets_.size(), .flat = {}, .gradients = {}};
    content.flat = group_.allocate_buffer(count, like.dtype(), like.device());
    content.flat.relabel(MemoryKind::gradients);
    std::int64_t start = 0;
    for (const std::size_t member : members) {
      const Tensor& value = parameters_[member]->value;
      const Tensor view = content.flat.narrow(start, value.numel()).view(value.shape());
      places_[member] = {.bucket = buckets_.size(), .view = view};
      content.gradients.push_back(view);
      start += value.numel();
    }
    buckets_.push_back({std::move(content), members.size(), {}});
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
// <<< your code

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  LOCKSTEP_CHECK(reduction.hook != nullptr, "make_bucketed_reducer: no hook to reduce a bucket");
  check_plan(parameters, plan);
  // >>> your code
  return std::make_unique<BucketedReducer>(group, std::move(parameters), plan, reduction);
  // <<< your code
}

}  // namespace lockstep::ddp
