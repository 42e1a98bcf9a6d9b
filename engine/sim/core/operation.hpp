// Operations under way, and where they come from. Internal to engine/sim.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "engine/sim/wire/request.hpp"

namespace lockstep::sim {

class OperationPool;

// The state of an operation besides its message: a collective, a split, or the request of a host in
// another process.
struct Whole {
  Request request;
  Reply reply;  // what the owner is answered when it is done
};

// A send, receive, collective or split under way, blocking or not. Millions of messages pass
// through a few of these; so what a message needs is small and lies in one piece.
struct Operation {
  Message request;  // of a collective or split what it has in common with a message
  Actor owner;
  double posted_s = 0;
  double ready_s = 0;  // of a send that has met its receive: when both were posted
  double done_s = 0;
  double ran_s = 0;          // a receive that is done: from the message's first byte to its last
  std::uint64_t order = 0;   // of posting, among those of one rank
  std::uint64_t handle = 0;  // to wait for; 0: blocking
  int depth = 0;             // of the message: set at the send's post, copied when it is received
  bool done = false;
  bool met = false;  // a message: its other side is there
  bool has_waiter = false;
  Actor waiter;                  // the strand that is blocked on it
  Operation* next = nullptr;     // behind it in its channel
  Operation* receive = nullptr;  // of a send that has met it, and is not transferred
  std::size_t received = 0;      // bytes that lie in request.into already

  // Bytes that nobody else keeps: sent and not yet received, or received and not yet waited for.
  std::vector<std::byte> kept;
  std::unique_ptr<Whole> whole;
  mutable std::unique_ptr<Request> told;  // the message as a request, once a sentence needs it

  std::uint32_t place = 0;  // in its pool
  std::uint32_t references = 0;
  OperationPool* pool = nullptr;
};

// The whole request of the operation, for sentences. Valid as long as the operation.
const Request& request_of(const Operation& operation);

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

  // The reference goes on without its holder, until from_detached() gives it another.
  Operation* detach() { return std::exchange(operation_, nullptr); }
  static OperationPtr from_detached(Operation* operation) {
    OperationPtr held;
    held.operation_ = operation;
    return held;
  }

  Operation* get() const { return operation_; }
  Operation* operator->() const { return operation_; }
  Operation& operator*() const { return *operation_; }
  explicit operator bool() const { return operation_ != nullptr; }
  bool operator==(const OperationPtr&) const = default;

 private:
  void hold() {
    if (operation_ != nullptr) ++operation_->references;
  }
  void drop() {
    if (operation_ != nullptr && --operation_->references == 0) take_back(*operation_);
  }
  static void take_back(Operation& operation);
  Operation* operation_ = nullptr;
};

// Keeps operations that are over, with the room that they have, for the next ones: a ring among
// thousands of ranks has millions, a few of each rank at a time. It is also the table of handles: a
// place and a number that tells its users apart.
class OperationPool {
 public:
  OperationPtr make() {
    if (free_.empty()) grow();
    Operation* operation = free_.back();
    free_.pop_back();
    return OperationPtr(operation);
  }

  // A handle holds its operation until it is taken.
  std::uint64_t open(OperationPtr operation) {
    operation->handle = ++used_ << 32 | operation->place;
    return operation.detach()->handle;
  }
  bool is_open(int rank, std::uint64_t handle) const { return find(rank, handle) != nullptr; }
  OperationPtr take(int rank, std::uint64_t handle) {  // nothing when there is none
    Operation* operation = find(rank, handle);
    if (operation == nullptr) return nullptr;
    operation->handle = 0;
    return OperationPtr::from_detached(operation);
  }
  template <typename Visit>  // those with an open handle
  void each_open(Visit visit) const {
    for (std::uint32_t place = 0; place < places_; ++place) {
      if (at(place).handle != 0) visit(at(place));
    }
  }

  void take_back(Operation& operation);

 private:
  static constexpr std::uint32_t chunk = 256;
  Operation& at(std::uint32_t place) const { return (*chunks_[place / chunk])[place % chunk]; }
  Operation* find(int rank, std::uint64_t handle) const {
    const auto place = static_cast<std::uint32_t>(handle);
    if (handle == 0 || place >= places_) return nullptr;
    Operation& operation = at(place);
    return operation.handle == handle && operation.owner.rank == rank ? &operation : nullptr;
  }
  void grow();

  std::vector<std::unique_ptr<std::array<Operation, chunk>>> chunks_;  // they stay where they are
  std::vector<Operation*> free_;
  std::uint32_t places_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace lockstep::sim
