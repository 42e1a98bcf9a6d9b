// Messages of ranks in this process, from the call to the answer. Millions of them pass here, so
// what one needs stands in one file: the compiler puts it together.
//
// A transfer is priced as soon as it is known to be its sender's next one; transfers.cpp has those
// of which that is not known yet.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

// The hash of one message. The sum over all of them does not depend on their order.
std::uint64_t hash_of(const Operation& send, int dst, double arrived_s, std::uint64_t checksum) {
  const auto both = [](auto high, auto low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  const Message& sent = send.request;
  std::uint64_t hash = 0;
  for (const std::uint64_t value : {both(send.owner.rank, dst), both(sent.group, sent.tag),
                                    static_cast<std::uint64_t>(sent.count),
                                    std::bit_cast<std::uint64_t>(arrived_s), checksum}) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

// A whole receive gets bytes that have an owner. Those of a Message lie in the sender's memory, or
// are kept with an isend: they go where they are wanted, or are kept until somebody waits.
void deliver(Operation& send, Operation& receive) {
  const auto sent = send.request.data;
  if (sent.empty()) return;
  const auto into = receive.request.into;
  if (receive.whole) {
    receive.whole->reply.data =
        send.whole ? send.whole->request.data : payload_of({sent.begin(), sent.end()});
  } else if (into.size() == sent.size()) {
    std::memcpy(into.data(), sent.data(), sent.size());
    receive.received = sent.size();
  } else if (sent.data() == send.kept.data()) {
    std::swap(receive.kept, send.kept);
  } else {
    receive.kept.assign(sent.begin(), sent.end());
  }
}

// Brings what was received to where the waiter wants it; how many bytes it is.
std::size_t received_by(Operation& operation) {
  if (operation.received > 0) return operation.received;
  const std::span<const std::byte> bytes =
      operation.whole ? operation.whole->reply.data.bytes : operation.kept;
  const bool receives = operation.request.op != Op::isend && operation.request.op != Op::send;
  if (!receives || bytes.empty()) return 0;
  const auto into = operation.request.into;
  if (bytes.size() == into.size()) std::memcpy(into.data(), bytes.data(), into.size());
  return bytes.size();
}

}  // namespace

const Answer* Core::ask(Actor actor, const Message& message) {
  State& state = *state_;
  if (state.is_over(actor.rank)) return &state.why_over(actor.rank);
  StrandState& strand = state.running_strand(actor, "asks");
  if (!state.makes_sense(actor, message)) state.check(actor, message);
  state.count(actor, message);
  ++state.counters_.ranks[static_cast<std::size_t>(actor.rank)].requests;
  if (state.faults_ && state.dies_asking(actor, message)) return nullptr;
  strand.brief = true;
  const bool blocks = message.op != Op::isend && message.op != Op::irecv;
  if (state.one_at_a_time_ && blocks) strand.running = false;
  state.take(actor, strand, message);
  if (!strand.waits_on && strand.running) return &strand.answer;
  strand.running = false;
  ++state.waiting_;
  return nullptr;
}

const Answer& Core::take_answer(Actor actor) {
  return state_->is_over(actor.rank) ? state_->why_over(actor.rank)
                                     : state_->strand_of(actor).answer;
}

std::optional<Actor> Core::next() {
  State& state = *state_;
  if (state.one_at_a_time_ || state.faults_ || state.any_lost_ || state.finding_) return {};
  const auto actor = state.ready_.take_main();
  if (actor) {
    state.main_[static_cast<std::size_t>(actor->rank)]->running = true;
    --state.waiting_;
  }
  return actor;
}

inline bool Core::State::makes_sense(Actor actor, const Message& message) const {
  if (message.op == Op::wait) return pool_.is_open(actor.rank, message.handle);
  if (message.group >= groups_.size()) return false;
  const Group& group = groups_[message.group];
  const int rank = group.rank_of(actor.rank);
  return rank >= 0 && message.peer >= 0 && std::cmp_less(message.peer, group.members.size()) &&
         message.peer != rank && message.count > 0 && message.count <= count_max &&
         (message.data.empty() || std::cmp_equal(message.data.size(), bytes_of(message)));
}

inline void Core::State::count(Actor actor, const Message& message) {
  if (message.op == Op::send || message.op == Op::isend) {
    ++messages_;
    bytes_ += bytes_of(message);
  }
  if (passes_limits()) check_limits(actor, message);
}

// True if no other transfer can come before it at its sender's port: none is open, and whatever the
// sender posts from now on is posted later. For a card, it cannot be known.
inline bool Core::State::is_next(const Operation& send, const Operation& receive) const {
  const StrandState& sender = *main_[static_cast<std::size_t>(send.owner.rank)];
  if (!at_once_ || sender.open_sends != 1 || !sender.alone) return false;
  if (links_.over_cards(send.owner.rank, receive.owner.rank)) return false;
  return (sender.clock_s >= send.ready_s || sender.waits_on.get() == &send) && agree(send, receive);
}

inline void Core::State::post_send(const OperationPtr& send, StrandState& sender) {
  send->depth = sender.depth + 1;
  const Message& request = send->request;
  const int src = send->owner.rank;
  const int dst = groups_[request.group].member(request.peer);
  auto& counters = counters_.ranks[static_cast<std::size_t>(src)];
  counters.bytes_sent += bytes_of(request);
  ++counters.messages_sent;
  ++main_[static_cast<std::size_t>(src)]->open_sends;
  Channel& channel = channels_.of_send({request.group, src, dst, request.tag});
  if (channel.has_receives()) {
    meet(send, channel.pop());
  } else {
    channel.push(send);
  }
}

inline void Core::State::post_receive(const OperationPtr& receive) {
  const Message& request = receive->request;
  const int src = groups_[request.group].member(request.peer);
  Channel& channel = channels_.of_receive({request.group, src, receive->owner.rank, request.tag});
  if (channel.has_sends()) {
    meet(channel.pop(), receive);
  } else {
    channel.push(receive);
  }
}

inline void Core::State::meet(const OperationPtr& send, const OperationPtr& receive) {
  send->ready_s = std::max(send->posted_s, receive->posted_s);
  send->met = receive->met = true;
  if (is_next(*send, *receive)) return transfer(*send, *receive);
  send->receive = receive.get();
  put({send->ready_s, send, receive});
}

void Core::State::transfer(Operation& send, Operation& receive) {
  const int src = send.owner.rank, dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  take_off(send);
  if (faults_ && is_doomed(send, receive)) return;
  const auto way = links_.pass(src, dst, bytes, send.ready_s,
                               faults_ ? faults_->change(src, dst) : LinkChange{});
  if (faults_ && is_doomed(send, receive, way.sent_s, way.arrived_s)) return;
  send.done_s = way.sent_s;
  receive.done_s = way.arrived_s;
  if (way.leaves_node) count_leaving(counters_.ranks[static_cast<std::size_t>(src)], bytes);
  const std::uint64_t checksum = checksum_of_bytes(send);
  sent(send, receive);
  received(send, receive, way.begin_s, checksum);
  resume(send);
  resume(receive);
}

void Core::State::take_off(Operation& send) {
  send.receive = nullptr;
  --main_[static_cast<std::size_t>(send.owner.rank)]->open_sends;
}

// The sender's buffer is its own again.
void Core::State::sent(Operation& send, Operation& receive) {
  receive.depth = send.depth;
  deliver(send, receive);
  send.request.data = {};
  if (send.whole) send.whole->request.data = {};
  send.done = true;
}

void Core::State::received(const Operation& send, Operation& receive, double begin_s,
                           std::uint64_t checksum) {
  const int src = send.owner.rank, dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  auto& receiver = counters_.ranks[static_cast<std::size_t>(dst)];
  receiver.bytes_received += bytes;
  ++receiver.messages_received;
  counters_.depth = std::max(counters_.depth, send.depth);
  if (options_.record == Record::everything) {
    counters_.messages.push_back({src, dst, send.request.tag, send.request.group, bytes, send.depth,
                                  begin_s, receive.done_s});
  }
  if (recorder_) recorder_->sent(send, src, dst, begin_s, receive.done_s);
  counters_.trace_hash += hash_of(send, dst, receive.done_s, checksum);
  receive.ran_s = receive.done_s - begin_s;
  receive.done = true;
}

void Core::State::answer_waiter(Operation& operation, StrandState& strand) {
  if (recorder_) record_wait(operation, strand.clock_s);
  strand.clock_s = std::max(strand.clock_s, operation.done_s);
  const Op op = operation.request.op;
  if (op == Op::recv || op == Op::irecv) strand.depth = std::max(strand.depth, operation.depth);
  if (strand.brief) {
    strand.answer = {nullptr, 0, received_by(operation),
                     operation.whole ? operation.whole->reply.ran_s : operation.ran_s};
  } else if (operation.whole) {
    strand.reply = std::move(operation.whole->reply);
  } else {
    strand.reply = {};
    strand.reply.data = payload_of(Bytes(operation.kept));
    strand.reply.ran_s = operation.ran_s;
  }
  set_ready(operation.waiter, strand);
  strand.waits_on = nullptr;
}

inline void Core::State::take(Actor actor, StrandState& strand, const Message& message) {
  if (message.op == Op::wait) return take_wait(actor, strand, message);
  const OperationPtr operation = operation_of(actor, strand);
  operation->request = message;
  if (message.op == Op::isend && !message.data.empty()) {
    operation->kept.assign(message.data.begin(), message.data.end());
    operation->request.data = operation->kept;
  }
  post(operation, strand);
}

OperationPtr Core::State::operation_of(Actor actor, const StrandState& strand) {
  OperationPtr operation = pool_.make();
  operation->owner = actor;
  operation->posted_s = strand.clock_s;
  operation->order = orders_++;
  return operation;
}

void Core::State::post(const OperationPtr& operation, StrandState& strand) {
  Message& request = operation->request;
  const Op op = request.op;
  if (is_blocking(op)) {
    operation->waiter = operation->owner;
    operation->has_waiter = true;
    strand.waits_on = operation;
  } else {
    if (!request.data.empty()) request.checksum = checksum_of(request.data);
    strand.answer = {nullptr, pool_.open(operation), 0, 0};
  }
  switch (op) {
    case Op::send:
    case Op::isend:
      return post_send(operation, strand);
    case Op::recv:
    case Op::irecv:
      return post_receive(operation);
    default:
      return enter(operation);
  }
}

void Core::State::take_wait(Actor actor, StrandState& strand, const Message& wait) {
  const OperationPtr operation = pool_.take(actor.rank, wait.handle);
  if (!operation) {  // two strands wait for one handle
    return answer_now(actor,
                      failed_reply("wait: another strand is already waiting for this operation"));
  }
  if (operation->request.checksum != wait.checksum) changed_in_flight(actor, *operation);
  operation->request.into = wait.into;
  operation->waiter = actor;
  operation->has_waiter = true;
  if (operation->done) return answer_waiter(*operation, strand);
  strand.waits_on = operation;
  if (operation->receive != nullptr && is_next(*operation, *operation->receive)) {
    transfer(*operation, *operation->receive);
    forget_one_match();
  }
}

void Core::State::set_ready(Actor actor, const StrandState& strand) {
  if (strand.running) return;  // it is answered at once
  if (one_at_a_time_) {
    ready_by_time_.push_back({strand.clock_s, actor});
  } else {
    ready_.add(actor);
  }
}

}  // namespace lockstep::sim
