// The simulator's core: scheduler, network model, virtual clock, and diagnosis. It knows ranks as
// actors that ask and are answered, and does not know what hosts them (processes or fibers).
//
// The host's loop:
//     while (!core.finished()) {
//       … let runnable strands run until each has asked or ended; tell ask() / end() / lose() …
//       for (auto& [actor, reply] : core.advance()) … answer …
//       if (core.finding()) break;
//     }
//
// Invariants
//   1. The core lets time pass only when it is quiet: every live strand has an open request. So a
//      run is a function of (program, inputs, seed), not of the host's timing.
//   2. Messages of one (group, source, destination, tag) are matched in order; there is no
//      any-source receive. Matching therefore does not depend on the seed; the order in which
//      services are served and strands are resumed does.
//   3. Virtual time is a function of the program and its inputs: in which order strands run changes
//      none of it. The messages of a port take it in the order of the times at which both their
//      sides were posted, then of posting.
//   4. Quiet and nothing to complete, while strands are blocked: that is a deadlock, found at once.
//
// Time: a message occupies its sender's port for gap + bytes/bandwidth and arrives latency later;
// links are full duplex; flows on one port queue (LogGP [AISS95]); a rank has one port to its own
// node and one to the others, or ranks share the network cards of their node (network.hpp), which
// serve them in the order in which they are ready, ties by rank. A transfer begins when both sides
// are posted and the sender's port is free. A sender goes on when its port is free again, a
// receiver when the message has arrived. N ranks of a native collective of b bytes enter when the
// last has come, and leave together (price.hpp).
//
// Order: without services every strand that can go on does, neighbouring ranks together
// (ready_strands.hpp); what several ranks share happens when all are blocked, the earliest first,
// up to the moment at which a rank goes on. With services the core goes by virtual time: one strand
// at a time, the earliest first. A request with a deadline that nothing has answered by then is
// expired when everything earlier has happened.
//
// Depth: a message is one deeper than the deepest message its sending strand has received; a strand
// inherits depth from the one that started it and hands it to those that it wakes or that join it.
// Native collectives are not messages: they have no depth.
//
// Left out: native collectives take no card from messages.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/sim/core/finding.hpp"
#include "engine/sim/model/faults.hpp"
#include "engine/sim/model/network.hpp"
#include "engine/sim/model/price.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::trace {
struct Timeline;
}

namespace lockstep::sim {

// The exception by which a service ends the run here, for all ranks: nobody is answered any more,
// and nothing is found. Ranks that were not over have no result, as if each had been killed.
struct WorldEnds {
  std::string why;
};

// A service of the trusted side for ranks (a store, data items, scripted events).
class Service {
 public:
  virtual ~Service() = default;
  virtual std::string_view name() const = 0;
  struct Answer {
    Payload data;
    double at = 0;  // the asking strand's clock moves to max(now, at)
  };
  // nullopt: not yet; asked again when anything else has happened, and `now` is that moment then.
  // Throwing Error fails the request, WorldEnds ends the run.
  virtual std::optional<Answer> serve(const Actor& who, const Request& request, double now) = 0;

  // How long a request that was asked at `asked_s` waits for its answer, and what is done at that
  // moment when serve() still has none: a throw fails the request, at that time.
  virtual double deadline_s(const Request&, double /*asked_s*/) const { return forever; }
  virtual Answer expire(const Actor& who, const Request& request, double now);
  static constexpr double forever = std::numeric_limits<double>::infinity();
};

// The hard caps of a case; passing one is a finding, traffic_limit.
struct Limits {
  std::int64_t messages_max = 1'000'000;
  std::int64_t bytes_max = std::int64_t{256} << 20;
  std::int64_t requests_max = 4'000'000;  // of every kind, so that polling ends too
};

// The choice of what Counters keeps of a run. A record takes 56 bytes a message: too much for
// millions of them.
enum class Record : std::uint8_t { totals, everything };

struct Options {
  int ranks = 1;
  Network network;
  std::uint64_t seed = 0;  // permutes ranks that are equal in virtual time
  Limits limits;
  std::vector<Service*> services;  // must outlive the core
  Record record = Record::everything;
  Faults faults{};
  trace::Timeline* timeline = nullptr;  // filled with what happens; must outlive the core
};

// A message as it was delivered; the record that is validated, priced and drawn.
struct MessageRecord {
  int src, dst;  // global ranks
  int tag;
  std::uint32_t group;
  std::int64_t bytes;
  int depth;  // length of the chain of causally dependent messages that ends here
  double sent_s, arrived_s;
};
struct CollectiveRecord {
  Collective kind;
  std::uint32_t group;
  std::int64_t bytes;             // that one rank brings, the most
  std::vector<double> entered_s;  // by group rank
  double done_s;
  DType dtype = DType::float32;  // of its elements; where it reduces, by which operator
  ReduceOp reduce = ReduceOp::sum;
};

struct RankCounters {
  std::int64_t bytes_sent = 0, bytes_received = 0;  // point-to-point payload
  std::int64_t messages_sent = 0, messages_received = 0;
  std::int64_t bytes_left_node = 0, messages_left_node = 0;  // of those sent
  std::int64_t collectives = 0, collective_bytes = 0;  // native collectives joined, tensor bytes
  std::int64_t requests = 0;                           // of every kind, as Faults::Kill counts them
  double clock_s = 0;                                  // virtual time at the end
};
struct Counters {
  std::vector<RankCounters> ranks;
  SentBytes by_collectives;  // native ones, by all ranks together
  int depth = 0;             // longest chain of causally dependent messages
  double makespan_s = 0;
  // Over everything that was delivered: who sent what to whom, and when it arrived. It does not
  // depend on the order in which ranks ran.
  std::uint64_t trace_hash = 0;
  std::vector<MessageRecord> messages;
  std::vector<CollectiveRecord> collectives;
};

class Core {
 public:
  explicit Core(Options options);
  ~Core();
  Core(Core&&) noexcept;

  int ranks() const;
  // The seed's: who goes first among ranks that are equal in virtual time.
  std::vector<int> order() const;

  // The actions of strands. Strand 0 of every rank is live from the start. These functions throw
  // Error, with a sentence, for calls that make no sense (a rank outside the group, lengths that
  // contradict, a strand that is not live, a handle that was waited for): a hostile rank can say
  // anything.
  void start(Actor actor, Actor parent, std::string name = {});  // begins at the parent's clock
  void ask(Actor actor, Request request);
  // The same for a message of a rank in this process, whose memory the core may read and write
  // while the strand is blocked. isend and irecv are answered at once, so is a wait for what is
  // done, unless strands go one at a time; nullptr: the strand is blocked, and take_answer() has
  // the answer when it goes on. Where the run is over for its rank, the answer says why. Valid
  // until the strand asks again.
  const Answer* ask(Actor actor, const Message& message);
  // An isend or irecv as a whole request, answered at once: the strand goes on, unless its rank
  // dies here.
  std::optional<Reply> ask_and_go_on(Actor actor, Request request);
  // Op::compute or Op::until, at once. False where strands go one at a time: an earlier one may
  // come first, so it has to ask.
  bool pass_time(Actor actor, Op op, double seconds);
  // With what it computed since, and has not told.
  double clock_s(Actor actor, double computed_s) const;
  void end(Actor actor);
  void wake(Actor sleeper, Actor waker);  // answers its Op::pause, not before the waker's clock
  // The rank is gone. Whoever waits for it is answered with Status::failed and `why`, and the
  // finding is rank_exited (a host that knows better replaces it).
  void lose(int rank, const std::string& why);
  // The rank, whose strand 0 runs, goes on no more because the world failed it. Whoever waits for
  // it is answered with Status::failed and `why`; nothing is found.
  void give_up(int rank, const std::string& why);
  // The rank is in its k-th step, from 1, where faults count those (Faults::Count).
  void begins_step(int rank, std::int64_t step);
  // An exception of the rank did not end it, because its program caught it: those who wait for the
  // rank in vain are told.
  void threw(int rank, const std::string& what);
  // Why the rank is gone: lost, killed by a fault, or it gave up; empty while it is there.
  const std::string& gone(int rank) const;
  bool is_over(int rank) const;  // something was found, or the rank is gone

  bool quiet() const;     // every live strand has an open request
  bool finished() const;  // no strand is live

  // Completes what can be completed, ordered by (virtual time, seed). Requires quiet().
  // Nothing to complete sets finding() to the diagnosis.
  struct Resume {
    Actor actor;
    Reply reply;
  };
  std::vector<Resume> advance();
  // The same for a host that asks for the reply when the strand runs. Valid until the next step.
  const std::vector<Actor>& step();
  // For a host that runs one strand after the other: who goes on now that the last one is blocked;
  // nobody where that takes a look at all of them, which is step()'s.
  std::optional<Actor> next();
  Reply take_reply(Actor actor);
  const Answer& take_answer(Actor actor);

  // The first thing that went wrong. Checked again at the end: undelivered messages, collectives
  // left by some ranks.
  const std::optional<Finding>& finding() const;

  // In flight: `wait` carries the buffer's checksum; it must still be that of the bytes that were
  // sent (isend, icollective) or that the irecv was posted with. A host that sees something else go
  // wrong reports it here; the first finding stays.
  void fail(Finding finding);

  const Counters& counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::sim
