#include "engine/comm/ordered_strand.hpp"

#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace lockstep::comm {

struct OrderedStrand::Task {
  Body body;
  double issued_s = 0, done_s = 0;  // by the clock: strands of a rank have their own
  double ran_s = 0;
  bool done = false;
  std::exception_ptr failure;
};

struct OrderedStrand::State {
  std::unique_ptr<Monitor> monitor;  // guards what follows, and what tasks became
  std::deque<std::shared_ptr<Task>> queue;
  bool busy = false, ending = false;
  double free_s = 0;  // when the last one was done

  void work(const ProcessGroup& clock) {
    std::unique_lock inside(*monitor);
    while (true) {
      monitor->wait([&] { return ending || !queue.empty(); });
      if (ending) return;
      const std::shared_ptr<Task> task = std::move(queue.front());
      queue.pop_front();
      busy = true;
      inside.unlock();
      carry_out(*task, clock);
      inside.lock();
      free_s = task->done_s;
      task->done = true;
      busy = false;
      monitor->notify_all();
    }
  }

  static void carry_out(Task& task, const ProcessGroup& clock) {
    clock.wait_until(task.issued_s);
    const double began = clock.now_s();
    try {
      task.body();
    } catch (...) {
      task.failure = std::current_exception();
    }
    task.body = nullptr;  // with the tensors that it holds
    task.done_s = clock.now_s();
    task.ran_s = task.done_s - began;
  }
};

class OrderedStrand::Queued final : public Pending {
 public:
  Queued(std::shared_ptr<State> state, std::shared_ptr<Task> task, const ProcessGroup& clock)
      : state_(std::move(state)), task_(std::move(task)), clock_(clock) {}
  void wait() override {
    {
      const std::scoped_lock inside(*state_->monitor);
      state_->monitor->wait([&] { return task_->done; });
    }
    clock_.wait_until(task_->done_s);
    if (task_->failure) std::rethrow_exception(task_->failure);
  }
  std::optional<double> ran_s() const override { return task_->ran_s; }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Task> task_;
  const ProcessGroup& clock_;
};

OrderedStrand::~OrderedStrand() {
  if (!strand_) return;
  try {
    const std::scoped_lock inside(*state_->monitor);
    state_->ending = true;
    for (const auto& task : std::exchange(state_->queue, {})) {
      task->body = nullptr;  // somebody may keep its Work
      task->failure = never_began();
      task->done = true;
    }
    state_->monitor->notify_all();
  } catch (const Error&) {
    return;  // a simulated run that is over, which ends the strand
  }
}

Work OrderedStrand::start(Body body) {
  if (!strand_) {
    state_ = std::make_shared<State>();
    state_->monitor = strands_.make_monitor();
    strand_ = strands_.start(name_, [state = state_, &clock = clock_] { state->work(clock); });
  }
  auto task = std::make_shared<Task>();
  task->body = std::move(body);
  task->issued_s = clock_.now_s();
  const std::scoped_lock inside(*state_->monitor);
  state_->queue.push_back(task);
  state_->monitor->notify_all();
  return Work(std::make_unique<Queued>(state_, std::move(task), clock_));
}

void OrderedStrand::run(const Body& body) {
  if (!idle()) return start(body).wait();
  if (state_) clock_.wait_until(state_->free_s);
  body();
}

bool OrderedStrand::idle() const {
  if (!strand_) return true;
  const std::scoped_lock inside(*state_->monitor);
  return state_->queue.empty() && !state_->busy;
}

}  // namespace lockstep::comm
