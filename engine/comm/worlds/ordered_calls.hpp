// The calls of a group whose ranks are processes: collectives are numbered, carried out one after
// the other, here or on a thread of the group's own, and counted; the first failure ends them all.
// Groups in shared memory, over TCP and on several hosts differ in how a call is carried out.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/comm/worlds/ordered_worker.hpp"

namespace lockstep::comm {

// A collective that a rank carries out: the number-th of its group, from 1.
struct Call {
  const Collective& collective;
  std::uint64_t number;
  Where where;
};
// "collective no. 3, all_reduce (sum) of 100 float32 at tests/comm/x.cpp:21"
std::string text_of(const Call& call, int size);

enum class Verb : std::uint8_t { send, recv };

struct MessageCall {
  Verb verb;
  int peer, tag;       // its destination or source
  std::int64_t count;  // elements
  DType dtype;
  Where where;
};
// "send to rank 1 (tag 0) of 100 float32 at tests/comm/x.cpp:21"; of a group that was split off
// "send to rank 1 (rank 3 of the world, tag 0) of …".
std::string text_of(const MessageCall& call, const RankNames& names);

// Why a group is poisoned; the first cause stays.
//   Thread  any
class FirstFailure {
 public:
  // Returns true if this was the first.
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

// The last member of its group, so that it ends before what its operations use.
//   Thread  next, run, start, drain and next_split: the rank's own; all others: any
class OrderedCalls {
 public:
  OrderedCalls(int rank, int size, RankNames names)
      : rank_(rank), size_(size), names_(std::move(names)) {}

  Call next(const Collective& collective, const Where& where) {
    return {collective, ++collectives_, where};
  }
  // Both carry a call out by `body`, which throws CommError. In the calling thread when nothing is
  // queued or runs:
  template <typename Body>
  void run(const Call& call, const Body& body) {
    worker_.run([&] {
      body();
      count(call.collective);
    });
  }
  // When it is this one's turn; `body` is given the call.
  template <typename Body>
  Work start(const Call& asked, Body body) {
    ++in_flight_;
    return worker_.start([this, collective = asked.collective, number = asked.number,
                          where = asked.where, body = std::move(body)] {
      const InFlight until_done(in_flight_);
      body(Call{collective, number, where});
      count(collective);
    });
  }
  // Waits until everything that was queued has ended.
  void drain() { worker_.drain(); }

  // Throws CommError when the group has failed before.
  template <typename AnyCall>
  void check_alive(const AnyCall& call) const {
    failure_.check([&] { return text(names_.name(rank_), ": ", text_of_any(call)); });
  }
  // "rank 1 of 4: send to rank 0 … failed"
  template <typename AnyCall>
  std::string failed_text(const AnyCall& call) const {
    return text(names_.place(rank_, size_), ": ", text_of_any(call), " failed");
  }
  FirstFailure& failure() { return failure_; }
  bool failed() const { return !failure_.cause().empty(); }

  std::string text_of_any(const Call& call) const { return text_of(call, size_); }
  std::string text_of_any(const MessageCall& call) const { return text_of(call, names_); }

  int next_split() { return ++splits_; }

  // Messages that somebody has yet to wait for count as in flight too.
  void message_started() { ++in_flight_; }
  void message_ended() { --in_flight_; }
  bool any_in_flight() const { return in_flight_ > 0; }

  void count_message(const Tensor& data) {
    bytes_ += static_cast<std::int64_t>(data.bytes());
    ++messages_;
  }
  Traffic traffic() const { return {bytes_, messages_, modelled_}; }

 private:
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

  void count(const Collective& collective) {
    const Sent sent = modelled_sent(collective, rank_, size_);
    bytes_ += sent.bytes;
    messages_ += sent.messages;
    modelled_ = true;
  }

  const int rank_, size_;
  const RankNames names_;
  FirstFailure failure_;
  std::uint64_t collectives_ = 0;
  int splits_ = 0;
  std::atomic<int> in_flight_ = 0;
  std::atomic<std::int64_t> bytes_ = 0, messages_ = 0;
  std::atomic<bool> modelled_ = false;
  OrderedWorker worker_;  // last: ends before what its operations use
};

}  // namespace lockstep::comm
