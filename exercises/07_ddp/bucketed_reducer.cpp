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
// <<< your code

}  // namespace

std::unique_ptr<Reducer> make_bucketed_reducer(comm::ProcessGroup& group,
                                               std::vector<Parameter*> parameters,
                                               const collectives::BucketPlan& plan,
                                               const Reduction& reduction) {
  LOCKSTEP_CHECK(reduction.hook != nullptr, "make_bucketed_reducer: no hook to reduce a bucket");
  check_plan(parameters, plan);
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)parameters, (void)plan, (void)reduction;
  throw NotImplemented("bucketed_reducer");
  // <<< your code
}

}  // namespace lockstep::ddp
