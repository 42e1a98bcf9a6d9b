// One thread that runs operations in the order they were given.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "engine/comm/in_order.hpp"
#include "engine/comm/work.hpp"

namespace lockstep::comm {

class OrderedWorker {
 public:
  using Body = OrderedBody;

  OrderedWorker() = default;
  ~OrderedWorker();
  OrderedWorker(const OrderedWorker&) = delete;
  OrderedWorker& operator=(const OrderedWorker&) = delete;

  // A Work that knows how long the body ran. When its wait() throws, everything that was queued has
  // ended as well.
  Work start(Body body);
  void run(const Body& body);
  // Waits until everything that was queued has ended. For groups that failed, so that whoever
  // unwinds may take the tensors' device away; not from within a body.
  void drain();

 private:
  struct Task {
    Body body;
    std::promise<void> done;
  };
  std::future<void> submit(Body body);
  void work();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> queue_;
  enum class State : unsigned char { idle, busy, ending } state_ = State::idle;
  std::thread thread_;
};

}  // namespace lockstep::comm
