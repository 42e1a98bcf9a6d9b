#include "engine/parallel/horovod/background.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/parallel/horovod/negotiate.hpp"
#include "engine/parallel/horovod/tensor_fusion.hpp"

namespace lockstep::horovod {
namespace {

// Groups that stand in front of others can end those, and this stands in front of the strand's
// group for that alone.
struct Reach : comm::ProcessGroup {
  static void give_up(comm::ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

void copy_unless_same(const Tensor& from, const Tensor& to) {
  if (!to.same_place(from)) to.copy_(from);
}

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

// The background strand. It lives on the strand's stack: a simulated strand that an exception
// leaves behind is not unwound, so the tensors that it holds do not outlive their device.
class Background {
 public:
  explicit Background(QueueState& state) : state_(state), group_(*state.group) {}
  void work();

 private:
  void wait_for_cycle();
  Outlook take_submitted();
  std::vector<Submission> negotiated(Outlook outlook);
  void reduce(const std::vector<Submission>& released);
  void reduce_group(const std::vector<Submission>& members, std::size_t index);
  Tensor room_for(const std::vector<Submission>& members, std::int64_t elements);
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

  QueueState& state_;
  comm::ProcessGroup& group_;
  std::vector<Submission> waiting_;         // for other ranks, in the order in which they came
  std::map<DType, Tensor> fusion_buffers_;  // as large as the largest group so far
  double cycle_began_s_ = -1e300;
};

void Background::work() {
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
    inside.unlock();  // this rank is told now, however long telling the others takes
    // Ranks that do not know of it wait in the next collective.
    return give_up(group_, group_.own_name() + " stopped reducing gradients");
  }
}

// Step a.
void Background::wait_for_cycle() {
  const double due_s = cycle_began_s_ + state_.options.cycle_s;
  if (group_.clock() == comm::Clock::machine) {
    const double left_s = due_s - group_.now_s();
    if (left_s > 0) state_.nap.take(left_s);
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

Outlook Background::take_submitted() {
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
std::vector<Submission> Background::negotiated(Outlook outlook) {
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
void Background::reduce(const std::vector<Submission>& released) {
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

void Background::reduce_group(const std::vector<Submission>& members, std::size_t index) {
  now("sums the gradients of " + names_text(members));
  const Measured sum{group_};
  const QueueOptions& options = state_.options;
  const Tensor& first = members[0].tensor;
  std::int64_t elements = 0;
  for (const Submission& member : members) elements += member.tensor.numel();
  collectives::GradientBucket bucket{.index = index, .flat = {}, .gradients = {}};
  bucket.flat = members.size() > 1 ? room_for(members, elements) : first.view({elements});
  std::int64_t start = 0;
  for (const auto& [name, tensor, at_s] : members) {
    bucket.gradients.push_back(bucket.flat.narrow(start, tensor.numel()).view(tensor.shape()));
    copy_unless_same(tensor, bucket.gradients.back());
    start += tensor.numel();
  }
  if (options.prescale != 1) bucket.flat.scale_(options.prescale);
  if (options.hook != nullptr) {
    options.hook->start(group_, bucket).wait();
    if (options.postscale != 1) bucket.flat.scale_(options.postscale);
  } else {
    group_.all_reduce_scaled(bucket.flat, options.postscale);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    copy_unless_same(bucket.gradients[i], members[i].tensor);
  }
  count(sum.with({.reductions = 1, .tensors = std::ssize(members)}));
  const double now_s = group_.now_s();
  const std::scoped_lock inside(*state_.monitor);
  state_.on_their_way -= std::ssize(members);
  state_.done_s = now_s;
  state_.monitor->notify_all();
}

// One tensor for a group of several: their places, or the fusion buffer.
Tensor Background::room_for(const std::vector<Submission>& members, std::int64_t elements) {
  const Tensor& like = members[0].tensor;
  std::vector<std::string> names;
  for (const Submission& member : members) names.push_back(member.name);
  const Tensor places = state_.gradient_memory.side_by_side(names);
  if (places.defined() && places.numel() == elements && places.dtype() == like.dtype()) {
    return places;
  }
  Tensor& buffer = fusion_buffers_[like.dtype()];
  if (!buffer.defined() || buffer.numel() < elements) {
    buffer = {};  // goes before the new one comes
    buffer = group_.allocate_buffer(elements, like.dtype(), like.device());
  }
  return buffer.narrow(0, elements);
}

void Background::now(std::string doing) {
  const std::scoped_lock inside(*state_.monitor);
  state_.doing = std::move(doing);
}

void Background::count(const QueueFigures& more) {
  const std::scoped_lock inside(*state_.monitor);
  QueueFigures& figures = state_.figures;
  figures.rounds += more.rounds;
  figures.reductions += more.reductions;
  figures.tensors += more.tensors;
  figures.bytes_sent += more.bytes_sent;
  figures.negotiation_bytes_sent += more.negotiation_bytes_sent;
  figures.communication += more.communication;
}

// The exception that is being handled; if a rank is lost, with the gradients that this one waits
// for. Only this strand writes `doing`.
std::exception_ptr Background::explained() const {
  try {
    throw;
  } catch (const CommError& error) {
    return std::make_exception_ptr(
        CommError(text("horovod: ", group_.own_name(), " ", state_.doing, ": ", error.what())));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void reduce_in_background(QueueState& state) { Background(state).work(); }

void give_up(comm::ProcessGroup& group, const std::string& why) { Reach::give_up(group, why); }

}  // namespace lockstep::horovod
