// The core's state, and the steps that its files take with it. Internal to engine/sim.
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
#include "engine/sim/core/channels.hpp"
#include "engine/sim/core/core.hpp"
#include "engine/sim/core/fault_state.hpp"
#include "engine/sim/core/ready_strands.hpp"
#include "engine/sim/core/recorder.hpp"
#include "engine/sim/model/links.hpp"
#include "engine/sim/wire/printable.hpp"

namespace lockstep::sim {

// If a rank passes only messages, only the first cache line is touched.
struct alignas(64) StrandState {
  double clock_s = 0;
  Answer answer;          // ready: what a Message is answered
  OperationPtr waits_on;  // blocked: until this is done
  int depth = 0;
  int open_sends = 0;  // of strand 0: of its rank, posted and not transferred
  bool live = true;
  bool running = true;
  bool brief = false;                  // its open request is a Message
  bool alone = true;                   // of strand 0: its rank never had another
  std::unique_ptr<Request> asked{};    // not looked at yet
  std::unique_ptr<Request> serving{};  // blocked: until the service answers
  std::unique_ptr<Request> joining{};  // blocked: until strand request.handle has ended
  std::unique_ptr<Request> pausing{};  // blocked: until a strand of its rank wakes it
  std::string name{};                  // as its rank calls it, or empty
  Reply reply{};                       // ready: what another request is answered
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
  int nodes = 1;                // on how many its members are

  bool world = false;                           // every rank, by its own number
  std::unordered_map<int, int> rank_by_global;  // of a group that is not

  int rank_of(int global_rank) const {  // -1: no member
    return world ? global_rank : rank_in_part(global_rank);
  }
  int rank_in_part(int global_rank) const;
  int member(int rank) const { return world ? rank : members[static_cast<std::size_t>(rank)]; }
};

class WaitGraph;
struct WaitNode;

struct Core::State {
  // A send and a receive that have met, and do not begin at once; or, of those that go over network
  // cards, have left the sender's node.
  struct Match {
    double at_s;  // when both are posted; when the first byte comes to the receiver's card
    OperationPtr send, receive;
    struct Left {
      double begin_s;
      std::uint64_t checksum;  // of the bytes: they may have changed when they arrive
    };
    std::optional<Left> left{};
  };
  struct Ready {
    double time_s;
    Actor actor;
  };

  explicit State(Options chosen);

  // Strands, and whether the run is over for their ranks.
  StrandState& strand_of(Actor actor) {
    const auto rank = static_cast<std::size_t>(actor.rank);
    if (actor.strand == 0 && rank < main_.size() && main_[rank]->live) return *main_[rank];
    return other_strand(actor);
  }
  StrandState& other_strand(Actor actor);
  StrandState& running_strand(Actor actor, const char* doing) {
    StrandState& strand = strand_of(actor);
    if (!strand.running) asks_twice(actor, doing);
    return strand;
  }
  [[noreturn]] static void asks_twice(Actor actor, const char* doing);
  bool is_over(int rank) const {
    return finding_ || (any_lost_ && !lost_[static_cast<std::size_t>(rank)].empty());
  }
  const Answer& why_over(int rank) {
    over_ = {finding_ ? &finding_->message : &lost_[static_cast<std::size_t>(rank)], 0, 0, 0};
    return over_;
  }

  // Checks what a rank may ask for. For a message, `check` is called only if it makes no sense, to
  // make the sentence from the whole request.
  void check(Actor actor, const Request& request) const;
  void check(Actor actor, const Message& message) const;
  bool makes_sense(Actor actor, const Message& message) const;
  void count(Actor actor, const Request& request);
  void count(Actor actor, const Message& message);
  bool passes_limits() {
    const auto& limits = options_.limits;
    return ++requests_ > limits.requests_max || messages_ > limits.messages_max ||
           bytes_ > limits.bytes_max;
  }
  void check_limits(Actor actor, const Request& request);
  void check_limits(Actor actor, const Message& message);

  // Requests, whose turn it is, and ranks that are gone.
  void take(Actor actor, Request request);                            // looks at one request
  void pass_time(StrandState& strand, Actor actor, Request request);  // compute, until
  void take_asked();                          // all, in the order of the askers' clocks
  void choose_next();                         // who goes on
  void answer_now(Actor actor, Reply reply);  // ready at the strand's own time
  void release_joiners(Actor ended);
  // Ends, as failed, the joins that are only for as long as something else can go on.
  //   Returns  true if there was one
  bool leave_joins();
  void drop(int rank, const std::string& why);  // its strands are no more
  void fail_waiters_of_lost();
  void end_world(const std::string& why);
  bool earlier(const Ready& a, const Ready& b) const;
  void found(Finding finding) {
    if (faults_ && !finding_) finding = faults_->explained(std::move(finding));
    if (finding_) return;
    if (recorder_) record_waiting(finding);
    finding_ = std::move(finding);
  }
  bool alive(int rank) const;  // some strand of it is live

  // Services.
  using Answering = std::function<std::optional<Service::Answer>(Service&, const Request&, double)>;
  void run_services();                   // until a strand that is ready is next
  bool serve_earliest(double before_s);  // true: some service answered
  bool answer(Actor actor, const Answering& answering);
  Service& service_of(const Request& request) const;
  double deadline_of(const StrandState& strand) const;
  std::vector<Ready> waiting_for_services(
      const std::function<double(const StrandState&)>& time) const;

  // Messages that wait for nothing but their other side.
  void take(Actor actor, StrandState& strand, const Message& message);
  void take_wait(Actor actor, StrandState& strand, const Message& wait);
  OperationPtr operation_of(Actor actor, const StrandState& strand);
  void post(const OperationPtr& operation, StrandState& strand);
  void post_send(const OperationPtr& send, StrandState& sender);
  void post_receive(const OperationPtr& receive);
  void meet(const OperationPtr& send, const OperationPtr& receive);
  bool is_next(const Operation& send, const Operation& receive) const;
  void transfer(Operation& send, Operation& receive);
  void take_off(Operation& send);
  void sent(Operation& send, Operation& receive);
  void received(const Operation& send, Operation& receive, double begin_s, std::uint64_t checksum);
  void resume(Operation& operation) {  // the waiter of a finished operation is ready
    if (operation.has_waiter) answer_waiter(operation, strand_of(operation.waiter));
  }
  void answer_waiter(Operation& operation, StrandState& strand);
  void set_ready(Actor actor, const StrandState& strand);

  // Transfers whose turn is not known at once.
  static bool later(const Match& a, const Match& b);
  void disagree(const Operation& send, const Operation& receive);
  void changed_in_flight(Actor actor, const Operation& operation);
  bool transfer_matches();  // false: none moved
  void put(Match match);
  double earliest_ready_s() const;
  void forget_one_match();
  void leave_node(Match match);
  void enter_node(const Match& match);

  // The effects of faults. These are called only if there are faults.
  bool dies_asking(Actor actor, const Request& request);
  bool dies_asking(Actor actor, const Message& message);
  void take_away(int rank, const std::string& why, double at_s);
  void strike_in_time(int rank);  // its death shows, though it may have things to do before
  void die_in_time(int rank);
  void strike_next();  // those that would go on, and are dead by then
  double slowness_of(int rank) const { return faults_ ? faults_->slowness_of(rank) : 1; }
  bool is_doomed(Operation& send, Operation& receive);
  bool is_doomed(Operation& send, Operation& receive, double sent_s, double arrived_s);
  bool is_doomed(const Group& group, const Group::Slot& slot, double done_s);
  bool fail_doomed(Actor actor, StrandState& strand);

  // Native collectives, and splits.
  void enter(const OperationPtr& operation);
  void run_collective(Group& group, std::uint32_t id, Group::Slot& slot);
  void run_split(const Group& parent, Group::Slot& slot, double done_s);

  // Finds what is stuck, and why.
  void diagnose_stuck();
  Finding cycle_finding(const WaitGraph& graph, const std::vector<std::size_t>& cycle) const;
  Finding end_finding(const WaitGraph& graph, const WaitNode& node) const;
  Finding left_finding(const WaitGraph& graph, const WaitNode& node) const;
  std::string waiting_text(const WaitGraph& graph, const WaitNode& node) const;
  std::string unmet_text(const Operation& message) const;
  std::string other_tag(const std::vector<WaitNode>& cycle) const;
  std::string thrown_by(const std::vector<int>& ranks) const;
  std::string meanwhile(const WaitGraph& graph, const WaitNode& node) const;

  // Checks what is left when all ranks have returned.
  void check_end();
  enum class Side : std::uint8_t { send, receive };
  std::vector<const Operation*> unmet(Side side) const;  // by rank, then oldest first

  // Recording of waits for the timeline.
  void record_wait(const Operation& operation, double start_s);
  void record_waiting(const Finding& finding);  // who waits at this moment, and why it ended
  trace::Waiting waiting_of(Actor actor, const StrandState& strand) const;

  // Findings about calls on which members of a group do not agree.
  Finding mismatch_of(const Group& group, const Group::Slot& slot, std::uint64_t index) const;

  Options options_;
  OperationPool pool_;                               // before all that holds operations
  std::vector<std::map<int, StrandState>> strands_;  // by rank, by strand
  std::vector<StrandState*> main_;                   // by rank: its strand 0
  std::vector<std::string> lost_;                    // by rank: why it is gone, or empty
  std::vector<std::string> threw_;                   // by rank: what it caught last, or empty
  std::vector<Group> groups_;
  Channels channels_;
  std::vector<Match> matches_;  // a heap, the earliest first; some are transferred meanwhile:
  std::size_t matches_over_ = 0;
  std::vector<Actor> asked_;  // strands whose request has not been looked at
  ReadyStrands ready_;        // who can go on; the same of strands that go one at a time:
  std::vector<Ready> ready_by_time_;
  std::vector<Actor> next_;  // who goes on
  bool any_lost_ = false;
  bool one_at_a_time_ = false;  // services: the earliest strand alone
  bool at_once_ = true;         // a transfer that must be its sender's next one need not wait
  double served_s_ = 0;         // when a service last answered
  Links links_;
  std::unique_ptr<FaultState> faults_;  // none without faults
  std::uint64_t orders_ = 0;
  std::int64_t requests_ = 0, messages_ = 0, bytes_ = 0;
  int live_ = 0, waiting_ = 0;  // strands; of them, those with an open request
  Counters counters_;
  std::optional<Finding> finding_;
  Answer over_;                         // of who asks when the run is over
  std::unique_ptr<Recorder> recorder_;  // where options_ name a timeline
};

constexpr std::int64_t count_max = std::int64_t{1} << 40;  // elements; far from overflow

Reply failed_reply(std::string error);
// Payload bytes of `count` elements.
std::int64_t bytes_of(const Request& request);
inline std::int64_t bytes_of(const Message& message) {
  return message.count * static_cast<std::int64_t>(bytes_of(message.dtype));
}
// The elements that a member brings into a collective of `members`: `count`, or one such share for
// each member. The request alone decides, since a symbolic tensor brings no bytes.
std::int64_t given_count(const Request& request, std::size_t members);
std::int64_t given_bytes(const Request& request, std::size_t members);
inline bool is_blocking(Op op) {
  return op == Op::send || op == Op::recv || op == Op::collective || op == Op::split;
}
// True if both sides of a message expect the same, so that it may be transferred. A message on
// which they disagree has to wait, so that the same one of several is found whichever ran first.
inline bool agree(const Operation& send, const Operation& receive) {
  return send.request.count == receive.request.count && send.request.dtype == receive.request.dtype;
}
// The checksum of what is transferred. Nobody but its owner may have changed it since it was sent.
inline std::uint64_t checksum_of_bytes(const Operation& send) {
  return send.request.op == Op::isend ? send.request.checksum : checksum_of(send.request.data);
}
inline void count_leaving(RankCounters& sender, std::int64_t bytes) {
  sender.bytes_left_node += bytes;
  ++sender.messages_left_node;
}
// "ranks 0, 2 and 3"; of many, "ranks 0 to 511 and 513 to 1023".
std::string list_of(const std::vector<int>& ranks);
// "all_reduce(sum) of 7 float32": of a collective or split, what all members must agree on.
std::string call_of(const Request& request);
FoundCall found_call(const Operation& operation);
// " in group 2 (ranks 1 and 3)", or nothing for the world.
std::string group_of(const Request& request, const Group& group);
// "work/ring.cpp:21" of the request's line.
std::string place_of(const Request& request);
// ", work/ring.cpp:21" or nothing.
std::string and_place(const Request& request);

}  // namespace lockstep::sim
