// Work: the handle of an operation that was started and not yet waited for (c10d's Work).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <utility>

namespace lockstep::comm {

// The part of a Work that a backend implements.
class Pending {
 public:
  virtual ~Pending() = default;
  // Blocks until done or the group's deadline; throws CommError. Called at most once.
  virtual void wait() = 0;
  // After wait(): seconds that the operation itself ran, without the time it stood in a queue;
  // nothing where the backend cannot tell.
  virtual std::optional<double> ran_s() const { return std::nullopt; }
};

// The same for a backend that knows what it has started by a number: one for all of it.
class Started {
 public:
  virtual ~Started() = default;
  // As Pending's, of the operation with this number, which was started at `where`.
  virtual void wait(std::uint64_t number, const std::source_location& where) = 0;
};

// Move-only. Dropping a Work that was not waited for does not wait and does not communicate: the
// operation stays in flight, and the simulator reports its buffer.
class [[nodiscard]] Work {
 public:
  Work() = default;  // already complete
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  // Nothing is allocated. `started` must outlive wait().
  Work(Started& started, std::uint64_t number, const std::source_location& where)
      : started_(&started), number_(number), where_(where) {}
  void wait() {
    if (const auto started = std::move(started_)) return started->wait(number_, where_);
    const auto pending = std::move(pending_);
    if (!pending) return;
    pending->wait();
    ran_s_ = pending->ran_s();
  }
  bool complete() const { return pending_ == nullptr && started_ == nullptr; }
  // As of Pending.
  std::optional<double> ran_s() const { return ran_s_; }

 private:
  struct Leave {  // it is not the Work's
    void operator()(Started*) const {}
  };
  std::unique_ptr<Pending> pending_;
  std::unique_ptr<Started, Leave> started_;
  std::uint64_t number_ = 0;
  std::source_location where_{};
  std::optional<double> ran_s_;
};

}  // namespace lockstep::comm
