// One thread that runs operations in the order they were given; started by the first one.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "engine/comm/work.hpp"

namespace lockstep::comm {

class OrderedWorker {
 public:
  using Body = std::function<void()>;

  OrderedWorker() = default;
  // Waits for the operation that runs; those not begun fail with CommError.
  ~OrderedWorker();
  OrderedWorker(const OrderedWorker&) = delete;
  OrderedWorker& operator=(const OrderedWorker&) = delete;

  // The future throws what the body threw.
  std::future<void> submit(Body body);
  // The same as a Work, which knows how long the body ran.
  Work start(Body body);
  // In the calling thread when nothing is queued or runs, else submit and wait.
  void run(const Body& body);

 private:
  struct Task {
    Body body;
    std::promise<void> done;
  };
  void work();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  enum class State : unsigned char { idle, busy, ending } state_ = State::idle;
  std::thread thread_;
};

}  // namespace lockstep::comm
