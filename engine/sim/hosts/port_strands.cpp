#include "engine/sim/hosts/port_strands.hpp"

#include <deque>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"

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
    const int self = port_.current_strand();
    LOCKSTEP_CHECK(inside_ != self, "lock: this strand is already in the monitor");
    if (inside_ == nobody) {
      inside_ = self;
      return;
    }
    entering_.push_back(self);
    pause({});  // unlock() hands the monitor over: it stays taken
  }

  void unlock() override {
    port_.settle();
    inside_ = nobody;
    if (entering_.empty()) return;
    inside_ = entering_.front();
    entering_.pop_front();
    port_.wake(inside_);
  }

  void notify_all() override {
    port_.settle();
    check_inside("notify_all");
    for (const int strand : std::exchange(waiting_, {})) port_.wake(strand);
  }

 private:
  static constexpr int nobody = -1;

  // Strands take turns here, so unguarded access is harmless; with threads it is a race.
  void check_inside(const char* call) const {
    LOCKSTEP_CHECK(
        inside_ == port_.current_strand(), call,
        ": this strand is not in the monitor; enter it with std::scoped_lock, change the shared "
        "data and notify before you leave: outside, others may see a half-finished change");
  }

  void wait_for_change(const std::source_location& where) override {
    port_.settle();
    check_inside("wait");
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
  int inside_ = nobody;       // the strand that is
  std::deque<int> entering_;  // strands that want to be, in their order
  std::vector<int> waiting_;  // strands in wait(), not notified
};

}  // namespace

std::unique_ptr<Monitor> make_port_monitor(StrandPort& port) {
  return std::make_unique<PortMonitor>(port);
}

void join_strand(Port& port, int strand, JoinFor how) {
  Request request;
  request.op = Op::join;
  request.count = how == JoinFor::ever ? 0 : 1;
  request.handle = static_cast<std::uint64_t>(strand);
  ask(port, request);
}

}  // namespace lockstep::sim
