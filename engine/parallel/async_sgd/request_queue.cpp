#include "engine/parallel/async_sgd/request_queue.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::async_sgd {

RequestQueue::RequestQueue(std::span<comm::ProcessGroup* const> workers, const Tensor& parameters,
                           Strands& strands, const ServerOptions& options)
    : parameters_(parameters),
      options_(options),
      clocks_(workers.size()),
      finished_(std::make_unique<bool[]>(workers.size())),
      monitor_(strands.make_monitor()) {
  for (comm::ProcessGroup* group : workers) {
    workers_.push_back({.group = group, .buffer = parameters.empty_like(parameters.numel())});
  }
}

bool RequestQueue::all_left() const {
  return std::all_of(finished_.get(), finished_.get() + workers_.size(), std::identity{});
}

bool RequestQueue::all_have_as_many_steps(int worker) const {
  const std::int64_t mine = clocks_[static_cast<std::size_t>(worker)];
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    if (!finished_[w] && clocks_[w] < mine) return false;
  }
  return true;
}

void RequestQueue::check_running() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RequestQueue::put_down(Matter matter, int worker) {
  notes_.push_back({matter, worker, now_s(), changes_});
  monitor_->notify_all();
}

bool RequestQueue::is_ready(const Note& note) const {
  if (note.matter == Matter::settle) {
    return all_have_as_many_steps(note.worker) || changes_ != note.changes;
  }
  return note.matter != Matter::pull ||
         may_start(clocks_, {finished_.get(), workers_.size()}, note.worker, options_.staleness);
}

// The first that is ready. With a bound, of several pulls up to the next note of another kind, that
// of the worker that is furthest behind, and of those the last to come: the others wait for it.
std::deque<RequestQueue::Note>::iterator RequestQueue::first_ready() {
  const auto steps = [&](const Note& note) {
    return clocks_[static_cast<std::size_t>(note.worker)];
  };
  auto first = std::ranges::find_if(notes_, [&](const Note& note) { return is_ready(note); });
  if (first == notes_.end() || options_.staleness == unbounded) return first;
  for (auto other = first; other != notes_.end() && other->matter == Matter::pull; ++other) {
    if (is_ready(*other) && steps(*other) <= steps(*first)) first = other;
  }
  return first;
}

Request RequestQueue::next() {
  const std::scoped_lock inside(*monitor_);
  while (true) {
    LOCKSTEP_CHECK(!all_left(), "serve: all ", size(),
                   " workers have left, and no request will come; return when the last one leaves");
    monitor_->wait([&] { return failure_ || first_ready() != notes_.end(); });
    check_running();
    const auto ready = first_ready();
    const Note note = *ready;
    notes_.erase(ready);
    wait_until(note.at_s);
    if (auto request = take(note)) return std::move(*request);
  }
}

// Nothing when it is answered here.
std::optional<Request> RequestQueue::take(const Note& note) {
  Served& worker = of(note.worker);
  const auto at = static_cast<std::size_t>(note.worker);
  switch (note.matter) {
    case Matter::pull:
      worker.waits = true;
      return Request{.kind = Request::Kind::pull, .worker = note.worker};
    case Matter::push:
      ++clocks_[at];
      ++changes_;
      count_push(worker);
      worker.in_round = synchronous();
      return Request{Request::Kind::push, note.worker, worker.buffer, worker.rate};
    case Matter::settle:
    case Matter::state: {
      if (note.matter == Matter::state && options_.state) {
        for (const Tensor& tensor : options_.state()) worker.state.push_back(tensor.clone());
      }
      ServerMessage told{.version = report_.updates};
      const bool early = note.matter == Matter::settle && !all_have_as_many_steps(note.worker);
      told.settled = early ? 0 : 1;
      tell(note.worker, parameters_, told);
      return std::nullopt;
    }
    case Matter::finish:
    case Matter::lost:
      break;
  }
  finished_[at] = true;
  ++changes_;
  const bool lost = note.matter == Matter::lost;
  return Request{.kind = lost ? Request::Kind::lost : Request::Kind::finish, .worker = note.worker};
}

void RequestQueue::count_push(Served& worker) {
  worker.staleness = report_.updates - worker.seen;
  const auto place = static_cast<std::size_t>(worker.staleness);
  if (report_.staleness.size() <= place) report_.staleness.resize(place + 1);
  ++report_.staleness[place];
  ++report_.pushes;
}

void RequestQueue::answer(int worker, const Tensor& parameters) {
  const std::scoped_lock inside(*monitor_);
  check_running();
  const bool waits = worker >= 0 && worker < size() && std::exchange(of(worker).waits, false);
  LOCKSTEP_CHECK(waits, "serve: worker ", worker,
                 " waits for no answer; answer each pull once, and nothing else");
  tell(worker, parameters,
       {report_.updates, of(worker).staleness, synchronous() ? round_loss_ : 0, 1});
}

void RequestQueue::tell(int worker, const Tensor& parameters, const ServerMessage& told) {
  Served& mine = of(worker);
  mine.seen = report_.updates;
  mine.buffer.copy_(parameters);
  mine.told = told;
  mine.told_s = now_s();
  monitor_->notify_all();
}

void RequestQueue::update(const Tensor& gradient, double rate) {
  if (synchronous()) {
    close_round();
    if (clips() && !clip(gradient)) return;
  }
  options_.update(gradient, rate);
  const std::scoped_lock inside(*monitor_);
  ++report_.updates;
}

void RequestQueue::close_round() {
  const std::scoped_lock inside(*monitor_);
  const auto pushes = static_cast<double>(std::ranges::count(workers_, true, &Served::in_round));
  round_loss_ = 0;
  for (Served& worker : workers_) {
    if (worker.in_round) round_loss_ += worker.loss / pushes;
    if (!clips()) worker.in_round = false;
  }
}

// Bounds the norm of a mean over all servers' parameters, as their workers tell it.
//   Returns  whether any worker was left to tell
bool RequestQueue::clip(const Tensor& mean) {
  Parameter whole;
  whole.grad = mean;
  Parameter* const only = &whole;
  const Tensor norm_here = optim::clip_grad_norm({&only, 1}, 0);
  const bool numbers = mean.device().has_numbers() && norm_here.defined();
  const std::scoped_lock inside(*monitor_);
  round_square_ = numbers ? number_of(norm_here) * number_of(norm_here) : 0;
  round_s_ = now_s();
  norm_.reset();
  for (Served& worker : workers_) worker.tells_norm = std::exchange(worker.in_round, false);
  monitor_->notify_all();
  monitor_->wait([&] {
    return failure_ || norm_ || std::ranges::count(workers_, true, &Served::tells_norm) == 0;
  });
  check_running();
  if (!norm_) return false;
  wait_until(norm_s_);
  const double factor = options_.clip_norm / (*norm_ + 1e-6);  // as clip_grad_norm
  if (factor < 1) mean.scale_(factor);
  return true;
}

void RequestQueue::end_serving() {
  const std::scoped_lock inside(*monitor_);
  check_running();
  for (int worker = 0; worker < size(); ++worker) {
    LOCKSTEP_CHECK(!is_active(worker), "serve: it returned while worker ", worker,
                   " was at work; serve until each worker has finished or is lost");
  }
}

void RequestQueue::push(int worker, const WorkerMessage& message) {
  const std::scoped_lock inside(*monitor_);
  check_running();
  of(worker).rate = message.rate;
  of(worker).loss = message.loss;
  put_down(Matter::push, worker);
}

ServerMessage RequestQueue::square_of_round(int worker) {
  const std::scoped_lock inside(*monitor_);
  monitor_->wait([&] { return failure_ || of(worker).tells_norm; });
  check_running();
  wait_until(round_s_);
  return {.version = report_.updates, .staleness = 0, .number = round_square_};
}

// The first worker of a round to tell it counts; the others tell the same.
void RequestQueue::tell_norm(int worker, double norm) {
  const std::scoped_lock inside(*monitor_);
  check_running();
  if (!norm_) {
    norm_ = norm;
    norm_s_ = now_s();
  }
  of(worker).tells_norm = false;
  monitor_->notify_all();
}

ServerMessage RequestQueue::wait_for(int worker, Ask ask, std::vector<Tensor>& state) {
  const std::scoped_lock inside(*monitor_);
  check_running();
  put_down(ask == Ask::settle  ? Matter::settle
           : ask == Ask::state ? Matter::state
                               : Matter::pull,
           worker);
  Served& mine = of(worker);
  monitor_->wait([&] { return failure_ || mine.told; });
  check_running();
  wait_until(mine.told_s);
  state = std::exchange(mine.state, {});
  return *std::exchange(mine.told, std::nullopt);
}

void RequestQueue::leave(int worker, const std::optional<std::string>& lost_because) {
  const std::scoped_lock inside(*monitor_);
  of(worker).tells_norm = false;
  if (lost_because && options_.stopped && options_.stopped()) {
    // Nobody is lost but this rank: whoever waits for other workers gets the same reason.
    if (!failure_) failure_ = std::make_exception_ptr(CommError(*lost_because));
  } else if (lost_because) {
    report_.lost.push_back(worker);
    if (options_.on_lost) options_.on_lost(worker, *lost_because);
  }
  put_down(lost_because ? Matter::lost : Matter::finish, worker);
}

void RequestQueue::fail(std::exception_ptr reason) {
  const std::scoped_lock inside(*monitor_);
  if (!failure_) failure_ = std::move(reason);
  monitor_->notify_all();
}

void RequestQueue::let_go() {
  workers_.clear();
  notes_.clear();
  parameters_ = {};
  options_ = {};
}

ServerReport RequestQueue::report() {
  const std::scoped_lock inside(*monitor_);
  check_running();
  return report_;
}

}  // namespace lockstep::async_sgd
