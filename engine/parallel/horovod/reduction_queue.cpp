// The main strand's side; background.hpp has the other.
#include "engine/parallel/horovod/reduction_queue.hpp"

#include <algorithm>
#include <utility>

#include "engine/parallel/horovod/background.hpp"

namespace lockstep::horovod {

ReductionQueue::ReductionQueue(comm::ProcessGroup& group, Strands* strands,
                               const QueueOptions& options)
    : group_(group) {
  LOCKSTEP_CHECK(options.cycle_s >= 0 && options.stall_limit_s > 0, "horovod: a cycle of ",
                 options.cycle_s, " s and a stall limit of ", options.stall_limit_s,
                 " s; the first cannot be negative, and the second is positive");
  LOCKSTEP_CHECK(options.threshold_bytes >= 0, "horovod: a fusion threshold of ",
                 options.threshold_bytes, " bytes; it cannot be negative, and 0 disables fusion");
  if (group.size() == 1) return;
  LOCKSTEP_CHECK(strands != nullptr, "horovod: ", group.size(),
                 " ranks need a strand each that reduces gradients; pass the strands of the rank");
  state_ = std::make_shared<QueueState>();
  state_->options = options;
  state_->group = group.split(0, group.rank());
  state_->gradient_memory = GradientMemory(*state_->group, options.parameters);
  state_->options.parameters = {};
  state_->monitor = strands->make_monitor();
  strand_ = strands->start("horovod", [state = state_] { reduce_in_background(*state); });
}

ReductionQueue::~ReductionQueue() {
  if (!strand_) return;
  state_->nap.forbid();
  bool on_their_way = false;
  try {
    const std::scoped_lock inside(*state_->monitor);
    state_->ending = true;
    state_->submitted.clear();  // the tensors' device may go before the strand does
    state_->monitor->notify_all();
    on_their_way = state_->on_their_way > 0;
  } catch (const Error&) {
    return;  // a simulated run that is over, which ends the strand
  }
  if (!on_their_way) return;
  give_up(*state_->group,
          group_.own_name() + " ended its distributed optimizer while gradients were on their way");
}

void ReductionQueue::submit(const std::string& name, const Tensor& tensor) {
  if (!strand_) return;
  const double now_s = group_.now_s();
  const std::scoped_lock inside(*state_->monitor);
  state_->throw_failure();
  state_->submitted.push_back({name, tensor, now_s});
  ++state_->on_their_way;
  state_->monitor->notify_all();
}

void ReductionQueue::wait() {
  if (!strand_) return;
  const double began_s = group_.now_s();
  double done_s = 0;
  std::exception_ptr failure;
  {
    const std::scoped_lock inside(*state_->monitor);
    state_->rank_waits_s = began_s;
    state_->nap.forbid();
    state_->monitor->notify_all();
    wait_inside();
    state_->rank_waits_s.reset();
    done_s = state_->done_s;
    failure = state_->failure;
  }
  state_->nap.allow();
  group_.wait_until(done_s);
  if (failure) std::rethrow_exception(failure);
  const double waited_s = group_.now_s() - began_s;
  const std::scoped_lock inside(*state_->monitor);
  collectives::Communication& seen = state_->figures.communication;
  seen.exposed_s += std::min(waited_s, seen.total_s - state_->seen_total_s);
  state_->seen_total_s = seen.total_s;
}

bool ReductionQueue::busy() const {
  if (!strand_) return false;
  const std::scoped_lock inside(*state_->monitor);
  return state_->on_their_way > 0;
}

void ReductionQueue::wait_inside() {
  try {
    state_->monitor->wait([&] { return state_->on_their_way == 0 || state_->failure; });
  } catch (const Error& error) {  // a simulated run that is over
    throw Error(text("horovod: ", group_.own_name(), " ", state_->doing, ": ", error.what()));
  }
}

QueueFigures ReductionQueue::figures() const {
  if (!strand_) return {};
  const std::scoped_lock inside(*state_->monitor);
  return state_->figures;
}

}  // namespace lockstep::horovod
