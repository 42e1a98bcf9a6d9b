// The background strand of a reduction queue, and what it shares with the rank's main strand. The
// steps a to c are those of reduction_queue.hpp. Strands of one simulated rank have clocks of their
// own, so what is handed over carries the time at which it was.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "engine/parallel/horovod/gradient_memory.hpp"
#include "engine/parallel/horovod/reduction_queue.hpp"

namespace lockstep::horovod {

struct Submission {
  std::string name;
  Tensor tensor;
  double at_s;
};

// How a strand on a machine waits for its next cycle, unless its rank waits: a monitor has no
// deadlines.
class Nap {
 public:
  // At most an hour: the clock cannot count to the end of any number of seconds.
  void take(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 3600.0)),
                      [&] { return !allowed_; });
  }
  void forbid() {
    const std::scoped_lock lock(mutex_);
    allowed_ = false;
    changed_.notify_all();
  }
  void allow() {
    const std::scoped_lock lock(mutex_);
    allowed_ = true;
  }

 private:
  std::mutex mutex_;  // guards allowed_
  std::condition_variable changed_;
  bool allowed_ = true;
};

// The state that the main strand and the background strand share.
struct QueueState {
  std::unique_ptr<comm::ProcessGroup> group;  // the background strand's alone
  QueueOptions options;
  GradientMemory gradient_memory{};

  Nap nap{};

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

// The strand's body: reduces what is submitted until the queue ends, or something fails.
void reduce_in_background(QueueState& state);

// Fails the group's operations, here and on the other ranks. Otherwise, ending the queue would wait
// for a strand that waits for other ranks.
void give_up(comm::ProcessGroup& group, const std::string& why);

}  // namespace lockstep::horovod
