// Work: the handle of an operation that was started and not yet waited for (c10d's Work).
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace lockstep::comm {

// What a backend implements.
class Pending {
 public:
  virtual ~Pending() = default;
  // Blocks until done or the group's deadline; throws CommError. Called at most once.
  virtual void wait() = 0;
  // After wait(): seconds that the operation itself ran, without the time it stood in a queue;
  // nothing where the backend cannot tell.
  virtual std::optional<double> ran_s() const { return std::nullopt; }
};

// Move-only. Dropping a Work that was not waited for does not wait and does not communicate: the
// operation stays in flight, and the simulator reports its buffer.
class [[nodiscard]] Work {
 public:
  Work() = default;  // already complete
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  void wait() {
    const auto pending = std::move(pending_);
    if (!pending) return;
    pending->wait();
    ran_s_ = pending->ran_s();
  }
  bool complete() const { return pending_ == nullptr; }
  // As of Pending.
  std::optional<double> ran_s() const { return ran_s_; }

 private:
  std::unique_ptr<Pending> pending_;
  std::optional<double> ran_s_;
};

}  // namespace lockstep::comm
