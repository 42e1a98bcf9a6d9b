// `busy` means that an operation runs, here or in a caller's thread. Only the worker takes from the
// queue, so order is the queue's.
#include "engine/comm/worlds/ordered_worker.hpp"

#include "engine/base/stopwatch.hpp"

namespace lockstep::comm {
namespace {

// `seconds` is written by the worker before the future is ready, and read after.
class Queued final : public Pending {
 public:
  Queued(OrderedWorker& worker, std::future<void> done, std::shared_ptr<const double> seconds)
      : worker_(worker), done_(std::move(done)), seconds_(std::move(seconds)) {}
  void wait() override {
    try {
      done_.get();
    } catch (...) {
      worker_.drain();
      throw;
    }
  }
  std::optional<double> ran_s() const override { return *seconds_; }

 private:
  OrderedWorker& worker_;
  std::future<void> done_;
  std::shared_ptr<const double> seconds_;
};

}  // namespace

OrderedWorker::~OrderedWorker() {
  {
    const std::scoped_lock lock(mutex_);
    state_ = State::ending;
    for (Task& task : queue_) {
      task.done.set_exception(never_began());
    }
    queue_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::future<void> OrderedWorker::submit(Body body) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back({std::move(body), {}});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  return queue_.back().done.get_future();
}

Work OrderedWorker::start(Body body) {
  auto seconds = std::make_shared<double>();
  auto done = submit([seconds, body = std::move(body)] {
    const Stopwatch watch;
    body();
    *seconds = watch.seconds();
  });
  return Work(std::make_unique<Queued>(*this, std::move(done), std::move(seconds)));
}

void OrderedWorker::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && state_ != State::busy; });
}

void OrderedWorker::run(const Body& body) {
  {
    std::unique_lock lock(mutex_);
    if (!queue_.empty() || state_ != State::idle) {
      lock.unlock();
      return start(body).wait();
    }
    state_ = State::busy;
  }
  // Idle again however the body ends.
  struct Release {
    OrderedWorker& worker;
    ~Release() {
      const std::scoped_lock lock(worker.mutex_);
      worker.state_ = State::idle;
      worker.changed_.notify_all();
    }
  } release{*this};
  body();
}

void OrderedWorker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return state_ == State::ending || (state_ == State::idle && !queue_.empty());
    });
    if (state_ == State::ending) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    state_ = State::busy;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task.body();
    } catch (...) {
      failure = std::current_exception();
    }
    // The body may hold tensors of a device. They go before anybody is told that it is done and may
    // take the device away.
    task.body = nullptr;
    if (failure) {
      task.done.set_exception(failure);
    } else {
      task.done.set_value();
    }
    lock.lock();
    if (state_ == State::busy) state_ = State::idle;
    changed_.notify_all();
  }
}

}  // namespace lockstep::comm
