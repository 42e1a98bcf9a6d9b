// What a group whose ranks are processes keeps of itself while several threads work for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/base/error.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::comm {

// Thread: any, for all of them.

class SentCount {
 public:
  void add(const Sent& of_collective) {
    bytes_ += of_collective.bytes;
    messages_ += of_collective.messages;
    modelled_ = true;
  }
  void add_message(const Tensor& data) {
    bytes_ += static_cast<std::int64_t>(data.bytes());
    ++messages_;
  }
  Traffic traffic() const { return {bytes_, messages_, modelled_}; }

 private:
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> messages_ = 0;
  std::atomic<bool> modelled_ = false;
};

// One operation more in flight for as long as this lives.
class InFlight {
 public:
  explicit InFlight(std::atomic<int>& count) : count_(count) {}
  ~InFlight() { --count_; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  std::atomic<int>& count_;
};

// Why a group is poisoned; the first cause stays.
class FirstFailure {
 public:
  // Whether this was the first.
  bool set(const std::string& cause) {
    const std::scoped_lock lock(mutex_);
    if (!cause_.empty()) return false;
    cause_ = cause;
    return true;
  }
  // By who was the first, when more is known.
  void tell_more(const std::string& cause) {
    const std::scoped_lock lock(mutex_);
    cause_ = cause;
  }
  std::string cause() const {
    const std::scoped_lock lock(mutex_);
    return cause_;
  }
  // Throws CommError when the group is poisoned; `what` cannot run then: "rank 1: all_reduce …".
  template <typename What>
  void check(const What& what) const {
    const std::string why = cause();
    if (why.empty()) return;
    throw CommError(text(what(), " cannot run, the group has failed before: ", why));
  }

 private:
  mutable std::mutex mutex_;  // guards cause_
  std::string cause_;
};

}  // namespace lockstep::comm
