// The strand's loop; the steps a to c are those of reduction_queue.hpp. Strands of one simulated
// rank have clocks of their own, so what is handed over carries the time at which it was.
#include "engine/parallel/horovod/reduction_queue.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/parallel/horovod/negotiate.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"

namespace lockstep::horovod {
namespace {

struct Submission {
  std::string name;
  Tensor tensor;
  double at_s;
};

// Whoever ends the queue must not wait for a strand that waits for other ranks. Groups that stand
// in front of others can end those, and this stands in front of the strand's group for that alone.
struct Reach : comm::ProcessGroup {
  static void give_up(comm::ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

// "a, b and 3 more"
std::string names_text(const std::vector<Submission>& submissions) {
  constexpr std::size_t shown = 3;
  std::string all;
  for (std::size_t i = 0; i < std::min(shown, submissions.size()); ++i) {
    all += text(i == 0 ? "" : ", ", submissions[i].name);
  }
  if (submissions.size() > shown) all += text(" and ", submissions.size() - shown, " more");
  return all;
}

}  // namespace

// What the main strand and the background strand share.
struct ReductionQueue::State {
  std::unique_ptr<comm::ProcessGroup> group;  // the background strand's alone
  QueueOptions options;

  std::unique_ptr<Monitor> monitor{};  // guards what follows
  std::deque<Submission> submitted{};
  std::int64_t on_their_way = 0;         // submitted, and not reduced
  std::optional<double> rank_waits_s{};  // since when
  double done_s = 0;                     // when the last one was reduced
  double seen_total_s = 0;               // communication.total_s at the end of the last wait()
  QueueFigures figures{};
  std::string doing{};  // for errors: "asks for the gradients of a, b"
  std::exception_ptr failure{};
  bool ending = false;

  void throw_failure() const {
    if (failure) std::rethrow_exception(failure);
  }
};

// The background strand. It lives on the strand's stack: a simulated strand that an exception
// leaves behind is not unwound, so the tensors that it holds do not outlive their device.
class ReductionQueue::Background {
 public:
  explicit Background(State& state) : state_(state), group_(*state.group) {}
  void work();

 private:
  void wait_for_cycle();
  Outlook take_submitted();
  std::vector<Submission> negotiated(Outlook outlook);
  void reduce(const std::vector<Submission>& released);
  void reduce_group(const std::vector<Submission>& members, std::size_t index);
  Tensor fusion_buffer(const Tensor& like, std::int64_t count);
  void now(std::string doing);
  std::exception_ptr explained() const;

  // From its making on, until told(): how long something took, and what it sent.
  struct Measured {
    const comm::ProcessGroup& group;
    double began_s = group.now_s();
    std::int64_t sent_before = group.traffic().bytes_sent;
    QueueFigures with(QueueFigures figures) const {
      figures.bytes_sent = group.traffic().bytes_sent - sent_before;
      figures.communication.total_s = group.now_s() - began_s;
      return figures;
    }
  };
  void count(const QueueFigures& more);

  State& state_;
  comm::ProcessGroup& group_;
  std::vector<Submission> waiting_;         // for other ranks, in the order in which they came
  std::map<DType, Tensor> fusion_buffers_;  // as large as the largest group so far
  double cycle_began_s_ = -1e300;
};

void ReductionQueue::Background::work() {
  std::unique_lock inside(*state_.monitor);
  while (true) {
    state_.monitor->wait([&] {
      const bool rank_waits = state_.rank_waits_s.has_value() && state_.on_their_way > 0;
      return state_.ending || !state_.submitted.empty() || rank_waits;
    });
    if (state_.ending) return;
    inside.unlock();
    std::exception_ptr thrown;
    try {
      wait_for_cycle();
      reduce(negotiated(take_submitted()));
    } catch (...) {
      thrown = explained();
    }
    inside.lock();
    if (thrown == nullptr) continue;
    state_.failure = thrown;
    state_.done_s = group_.now_s();
    state_.monitor->notify_all();
    // Ranks that do not know of it wait in the next collective.
    return Reach::give_up(group_, group_.own_name() + " stopped reducing gradients");
  }
}

// Step a.
void ReductionQueue::Background::wait_for_cycle() {
  const double due_s = cycle_began_s_ + state_.options.cycle_s;
  if (group_.clock() == comm::Clock::machine) {
    const auto nobody_waits = [&] {
      const std::scoped_lock inside(*state_.monitor);
      return !state_.ending && !state_.rank_waits_s.has_value();
    };
    const std::chrono::duration<double> nap(state_.options.cycle_s / 10);
    while (group_.now_s() < due_s && nobody_waits()) std::this_thread::sleep_for(nap);
  } else {
    double first_s = 0, waits_s = 0;
    {
      const std::scoped_lock inside(*state_.monitor);
      waits_s = state_.rank_waits_s.value_or(due_s);
      first_s = state_.submitted.empty() ? waits_s : state_.submitted.front().at_s;
    }
    group_.wait_until(first_s);
    const double until_s = std::min(due_s, waits_s);
    if (until_s > group_.now_s()) group_.wait_until(until_s);  // the first cycle was always due
  }
  cycle_began_s_ = group_.now_s();
}

Outlook ReductionQueue::Background::take_submitted() {
  const double now_s = group_.now_s();
  const std::scoped_lock inside(*state_.monitor);
  while (!state_.submitted.empty() && state_.submitted.front().at_s <= now_s) {
    waiting_.push_back(std::move(state_.submitted.front()));
    state_.submitted.pop_front();
  }
  const bool all_here =
      state_.submitted.empty() && state_.rank_waits_s.has_value() && *state_.rank_waits_s <= now_s;
  return all_here ? Outlook::waits : Outlook::goes_on;
}

// Step b: what is to be reduced now, in the order of all ranks; the rest waits.
std::vector<Submission> ReductionQueue::Background::negotiated(Outlook outlook) {
  now("asks for the gradients of " + names_text(waiting_));
  const Measured round{group_};
  std::vector<Request> requests;
  for (const auto& [name, tensor, at_s] : waiting_) {
    requests.push_back({name, tensor.dtype(), tensor.shape(), round.began_s - at_s});
  }
  const std::vector<Response> responses =
      negotiate(group_, requests, {state_.options.stall_limit_s, outlook});
  QueueFigures figures = round.with({.rounds = 1});
  figures.negotiation_bytes_sent = figures.bytes_sent;
  count(figures);
  std::vector<Submission> released;
  for (const Response& response : responses) {
    if (response.verdict != Verdict::reduce) throw Error("horovod: " + response.why);
    const auto mine = std::ranges::find(waiting_, response.name, &Submission::name);
    LOCKSTEP_CHECK(mine != waiting_.end(), "horovod: ", group_.own_name(),
                   " is told to reduce the gradient ", response.name,
                   ", which it did not ask for; negotiate() releases what all ranks have");
    released.push_back(std::move(*mine));
    waiting_.erase(mine);
  }
  return released;
}

// Step c.
void ReductionQueue::Background::reduce(const std::vector<Submission>& released) {
  std::vector<Ready> ready;
  for (const auto& [name, tensor, at_s] : released) {
    ready.push_back({tensor.numel(), tensor.dtype()});
  }
  std::size_t index = 0;
  for (const auto& places : fuse(ready, state_.options.threshold_bytes).groups) {
    std::vector<Submission> members;
    for (const std::size_t place : places) members.push_back(released.at(place));
    reduce_group(members, index++);
  }
}

void ReductionQueue::Background::reduce_group(const std::vector<Submission>& members,
                                              std::size_t index) {
  now("sums the gradients of " + names_text(members));
  const Measured sum{group_};
  const QueueOptions& options = state_.options;
  const Tensor& first = members[0].tensor;
  const bool fused = members.size() > 1;
  std::int64_t elements = 0;
  for (const Submission& member : members) elements += member.tensor.numel();
  collectives::GradientBucket bucket{.index = index, .flat = {}, .gradients = {}};
  bucket.flat = fused ? fusion_buffer(first, elements) : first.view({elements});
  std::int64_t start = 0;
  for (const auto& [name, tensor, at_s] : members) {
    bucket.gradients.push_back(bucket.flat.narrow(start, tensor.numel()).view(tensor.shape()));
    if (fused) bucket.gradients.back().copy_(tensor);
    start += tensor.numel();
  }
  if (options.prescale != 1) bucket.flat.scale_(options.prescale);
  if (options.hook != nullptr) {
    options.hook->start(group_, bucket).wait();
  } else {
    group_.all_reduce(bucket.flat, ReduceOp::sum);
  }
  if (options.postscale != 1) bucket.flat.scale_(options.postscale);
  for (std::size_t i = 0; fused && i < members.size(); ++i) {
    members[i].tensor.copy_(bucket.gradients[i]);
  }
  count(sum.with({.reductions = 1, .tensors = std::ssize(members)}));
  const double now_s = group_.now_s();
  const std::scoped_lock inside(*state_.monitor);
  state_.on_their_way -= std::ssize(members);
  state_.done_s = now_s;
  state_.monitor->notify_all();
}

Tensor ReductionQueue::Background::fusion_buffer(const Tensor& like, std::int64_t elements) {
  Tensor& buffer = fusion_buffers_[like.dtype()];
  if (!buffer.defined() || buffer.numel() < elements) {
    buffer = {};  // goes before the new one comes
    buffer = group_.allocate_buffer(elements, like.dtype(), like.device());
  }
  return buffer.narrow(0, elements);
}

void ReductionQueue::Background::now(std::string doing) {
  const std::scoped_lock inside(*state_.monitor);
  state_.doing = std::move(doing);
}

void ReductionQueue::Background::count(const QueueFigures& more) {
  const std::scoped_lock inside(*state_.monitor);
  QueueFigures& figures = state_.figures;
  figures.rounds += more.rounds;
  figures.reductions += more.reductions;
  figures.tensors += more.tensors;
  figures.bytes_sent += more.bytes_sent;
  figures.negotiation_bytes_sent += more.negotiation_bytes_sent;
  figures.communication += more.communication;
}

// What is being handled; of a lost rank, with the gradients that this one waits for. Only this
// strand writes `doing`.
std::exception_ptr ReductionQueue::Background::explained() const {
  try {
    throw;
  } catch (const CommError& error) {
    return std::make_exception_ptr(
        CommError(text("horovod: ", group_.own_name(), " ", state_.doing, ": ", error.what())));
  } catch (...) {
    return std::current_exception();
  }
}

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
  state_ = std::make_shared<State>();
  state_->options = options;
  state_->group = group.split(0, group.rank());
  state_->monitor = strands->make_monitor();
  strand_ = strands->start("horovod", [state = state_] { Background(*state).work(); });
}

ReductionQueue::~ReductionQueue() {
  if (!strand_) return;
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
  Reach::give_up(*state_->group, group_.own_name() +
                                     " ended its distributed optimizer while gradients were on "
                                     "their way");
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
    state_->monitor->notify_all();
    wait_inside();
    state_->rank_waits_s.reset();
    done_s = state_->done_s;
    failure = state_->failure;
  }
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
