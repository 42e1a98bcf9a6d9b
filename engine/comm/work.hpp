// Work: the handle of an operation that was started and not yet waited for (c10d's Work).
#pragma once

#include <memory>
#include <utility>

namespace lockstep::comm {

// What a backend implements.
class Pending {
 public:
  virtual ~Pending() = default;
  // Blocks until done or the group's deadline; throws CommError. Called at most once.
  virtual void wait() = 0;
};

// Move-only. Dropping a Work that was not waited for does not wait and does not communicate: the
// operation stays in flight, and the simulator reports its buffer.
class [[nodiscard]] Work {
 public:
  Work() = default;  // already complete
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  void wait() {
    if (auto pending = std::move(pending_)) pending->wait();
  }
  bool complete() const { return pending_ == nullptr; }

 private:
  std::unique_ptr<Pending> pending_;
};

}  // namespace lockstep::comm
