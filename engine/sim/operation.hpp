// Operations under way, and where they come from. Internal to engine/sim.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/sim/request.hpp"

namespace lockstep::sim {

class OperationPool;

// The fields of a message, in a request that has its room already.
void fill(Request& request, const Message& message);

// A send, receive, collective or split under way, blocking or not.
struct Operation {
  Request request;
  Actor owner;
  double posted_s = 0;
  std::uint64_t order = 0;     // of posting, among all operations
  int depth = 0;               // of the message: set at the send's post, copied at the match
  std::uint64_t checksum = 0;  // what the buffer must still have when it is waited for
  std::uint64_t handle = 0;    // to wait for; 0: blocking
  bool done = false;
  double done_s = 0;
  Reply reply;                  // what the owner is answered when it is done
  std::optional<Actor> waiter;  // the strand that is blocked on it

  // Of a Message: where what is received goes, once the owner waits, and bytes that nobody else
  // keeps (sent and not yet received, or received and not yet waited for).
  std::span<std::byte> into;
  std::vector<std::byte> kept;

  std::size_t references = 0;
  OperationPool* pool = nullptr;
};

// Counts the holders of an operation, in one thread; the last one gives it back to its pool.
class OperationPtr {
 public:
  OperationPtr() = default;
  OperationPtr(std::nullptr_t) {}
  explicit OperationPtr(Operation* operation) : operation_(operation) { hold(); }
  OperationPtr(const OperationPtr& other) : operation_(other.operation_) { hold(); }
  OperationPtr(OperationPtr&& other) noexcept
      : operation_(std::exchange(other.operation_, nullptr)) {}
  OperationPtr& operator=(OperationPtr other) noexcept {
    std::swap(operation_, other.operation_);
    return *this;
  }
  ~OperationPtr() { drop(); }

  Operation* operator->() const { return operation_; }
  Operation& operator*() const { return *operation_; }
  explicit operator bool() const { return operation_ != nullptr; }
  bool operator==(const OperationPtr&) const = default;

 private:
  void hold() {
    if (operation_ != nullptr) ++operation_->references;
  }
  inline void drop();
  Operation* operation_ = nullptr;
};

// Keeps operations that are over, with the room that they have, for the next ones: a ring among
// thousands of ranks has millions, a few of each rank at a time.
class OperationPool {
 public:
  OperationPtr make() {
    if (free_.empty()) {
      all_.emplace_back().pool = this;
      return OperationPtr(&all_.back());
    }
    Operation* operation = free_.back();
    free_.pop_back();
    return OperationPtr(operation);
  }

  void take_back(Operation& operation) {
    Request& request = operation.request;
    request.data = {};
    request.counts.clear();
    request.file.clear();
    operation.reply = {};
    operation.waiter.reset();
    operation.into = {};
    operation.handle = 0;
    operation.done = false;
    free_.push_back(&operation);
  }

 private:
  std::deque<Operation> all_;  // a deque: they stay where they are
  std::vector<Operation*> free_;
};

void OperationPtr::drop() {
  if (operation_ != nullptr && --operation_->references == 0) {
    operation_->pool->take_back(*operation_);
  }
}

}  // namespace lockstep::sim
