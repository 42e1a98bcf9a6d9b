#include "engine/sim/port_strands.hpp"

#include <deque>
#include <utility>
#include <vector>

namespace lockstep::sim {

namespace {

void ask(Port& port, const Request& request) {
  const Reply reply = port.call(request);
  if (reply.status != Status::ok) throw Error(reply.error);
}

// Only one strand runs, so nothing here needs a lock of the machine. A strand that has to wait
// pauses, which is a request: thus the core knows of it, and of whoever wakes it.
class PortMonitor final : public Monitor {
 public:
  explicit PortMonitor(StrandPort& port) : port_(port) {}

  void lock() override {
    port_.settle();
    if (!std::exchange(taken_, true)) return;
    entering_.push_back(port_.current_strand());
    pause({});  // unlock() hands the monitor over: it stays taken
  }

  void unlock() override {
    port_.settle();
    if (entering_.empty()) {
      taken_ = false;
    } else {
      port_.wake(entering_.front());
      entering_.pop_front();
    }
  }

  void notify_all() override {
    port_.settle();
    for (const int strand : std::exchange(waiting_, {})) port_.wake(strand);
  }

 private:
  void wait_for_change(const std::source_location& where) override {
    port_.settle();
    waiting_.push_back(port_.current_strand());
    unlock();
    pause(where);
    lock();
  }

  void pause(const std::source_location& where) {
    Request request;
    request.op = Op::pause;
    request.file = where.file_name();
    request.line = static_cast<int>(where.line());
    ask(port_, request);
  }

  StrandPort& port_;
  bool taken_ = false;        // a strand is inside
  std::deque<int> entering_;  // strands that want to be, in their order
  std::vector<int> waiting_;  // strands in wait(), not notified
};

}  // namespace

std::unique_ptr<Monitor> make_port_monitor(StrandPort& port) {
  return std::make_unique<PortMonitor>(port);
}

void join_strand(Port& port, int strand) {
  Request request;
  request.op = Op::join;
  request.handle = static_cast<std::uint64_t>(strand);
  ask(port, request);
}

}  // namespace lockstep::sim
