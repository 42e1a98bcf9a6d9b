// What the core remembers. Internal to engine/sim: core.cpp schedules, serving.cpp lets services
// answer, matching.cpp moves messages, collective.cpp runs native collectives and splits,
// diagnosis.cpp explains what is stuck, mismatch.cpp what does not agree.
//
// Invariants
//   1. A channel (group, source, destination, tag) holds waiting sends or waiting receives, never
//      both: they would have been matched.
//   2. A live strand is running, has asked (a request not yet looked at), is blocked (on an
//      operation, a service, another strand's end or its call), or is ready (its reply waits to be
//      handed out).
//   3. A member enters the collectives of a group in order; so the k-th is full only when all
//      earlier ones are, and they complete in order.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>

#include "engine/base/error.hpp"
#include "engine/sim/core.hpp"

namespace lockstep::sim {

// A send, receive, collective or split under way, blocking or not.
struct Operation {
  Request request;
  Actor owner;
  double posted_s = 0;
  std::uint64_t order = 0;     // of posting, among all operations
  int depth = 0;               // of the message: set at the send's post, copied at the match
  std::uint64_t checksum = 0;  // what the buffer must still have when it is waited for
  bool done = false;
  double done_s = 0;
  Reply reply;                  // what the owner is answered when it is done
  std::optional<Actor> waiter;  // the strand that is blocked on it
};
using OperationPtr = std::shared_ptr<Operation>;

struct Strand {
  std::string name;  // as its rank calls it, or empty
  double clock_s = 0;
  int depth = 0;
  bool live = true;
  bool running = true;
  std::optional<Request> asked;    // not looked at yet
  OperationPtr waits_on;           // blocked: until this is done
  std::optional<Request> serving;  // blocked: until the service answers
  std::optional<Request> joining;  // blocked: until strand request.handle has ended
  std::optional<Request> pausing;  // blocked: until a strand of its rank wakes it
};

struct Group {
  std::vector<int> members;            // global ranks, by group rank
  std::vector<std::uint64_t> entered;  // collectives that each member has entered
  struct Slot {
    std::vector<OperationPtr> by_member;
    int count = 0;
  };
  std::deque<Slot> open;        // collectives that not everyone has entered
  std::uint64_t completed = 0;  // how many lie before open.front()
  double free_s = 0;            // when the last one is over

  int rank_of(int global_rank) const;  // -1: no member
};

struct Core::State {
  using ChannelKey = std::tuple<std::uint32_t, int, int, int>;  // group, src, dst (global), tag
  struct Channel {
    std::deque<OperationPtr> sends, receives;
  };
  struct Match {
    OperationPtr send, receive;
  };
  struct Ready {
    double time_s;
    Actor actor;
    Reply reply;
  };

  explicit State(Options chosen);

  // core.cpp
  Strand& strand_of(Actor actor);
  Strand& running_strand(Actor actor, const char* doing);
  void check(Actor actor, const Request& request) const;
  void check_limits(Actor actor, const Request& request);
  void take(Actor actor, Request request);  // looks at one request
  void take_wait(Actor actor, const Request& request);
  void answer_now(Actor actor, Reply reply);   // ready at the strand's own time
  void resume(const OperationPtr& operation);  // the waiter of a finished operation is ready
  void release_joiners(Actor ended);
  void fail_waiters_of_lost();
  bool earlier(const Ready& a, const Ready& b) const;
  void found(Finding finding) {
    if (!finding_) finding_ = std::move(finding);
  }
  bool alive(int rank) const;  // some strand of it is live

  // serving.cpp
  using Answering = std::function<std::optional<Service::Answer>(Service&, const Request&, double)>;
  void run_services();                   // until a strand that is ready is next
  bool serve_earliest(double before_s);  // true: some service answered
  bool answer(Actor actor, const Answering& answering);
  Service& service_of(const Request& request) const;
  double deadline_of(const Strand& strand) const;
  std::vector<Ready> waiting_for_services(const std::function<double(const Strand&)>& time) const;

  // matching.cpp
  void post_send(const OperationPtr& send);
  void post_receive(const OperationPtr& receive);
  void transfer_matches();
  void transfer(const Match& match);

  // collective.cpp
  void enter(const OperationPtr& operation);
  void run_collective(Group& group, std::uint32_t id, Group::Slot& slot);
  void run_split(const Group& parent, Group::Slot& slot, double done_s);

  // diagnosis.cpp
  void diagnose_stuck();
  void check_end();
  std::vector<OperationPtr> unreceived_sends() const;  // by rank, then oldest first

  // mismatch.cpp
  Finding mismatch_of(const Group& group, const Group::Slot& slot, std::uint64_t index) const;

  Options options_;
  std::vector<std::map<int, Strand>> strands_;  // by rank, by strand
  std::vector<std::int64_t> priority_;          // by rank: who goes first among equals
  std::vector<std::string> lost_;               // by rank: why it is gone, or empty
  std::vector<Group> groups_;
  std::map<ChannelKey, Channel> channels_;
  std::vector<Match> matches_;                                            // not yet transferred
  std::vector<std::unordered_map<std::uint64_t, OperationPtr>> handles_;  // by rank: to wait for
  std::vector<Ready> ready_;
  double served_s_ = 0;              // when a service last answered
  std::vector<double> port_free_s_;  // by rank: when its sending port is idle
  std::uint64_t orders_ = 0;
  std::uint64_t next_handle_ = 1;
  std::int64_t requests_ = 0, messages_ = 0, bytes_ = 0;
  int live_ = 0, waiting_ = 0;  // strands; of them, those with an open request
  Counters counters_;
  std::optional<Finding> finding_;
};

// Payload bytes of `count` elements.
std::int64_t bytes_of(const Request& request);
// What a member brings into a collective of `members`: `count` elements, or one such share for each
// member. Counted by the request alone, since a symbolic tensor brings no bytes.
std::int64_t given_count(const Request& request, std::size_t members);
std::int64_t given_bytes(const Request& request, std::size_t members);
bool has_root(Collective collective);
// "ranks 0, 2 and 3"
std::string list_of(const std::vector<int>& ranks);
// "all_reduce(sum) of 7 float32": of a collective or split, what all members must agree on.
std::string call_of(const Request& request);
// " in group 2", or nothing for the world.
std::string group_of(const Request& request);
// "work/ring.cpp:21" of the request's line.
std::string place_of(const Request& request);
// ", work/ring.cpp:21" or nothing.
std::string and_place(const Request& request);

}  // namespace lockstep::sim
