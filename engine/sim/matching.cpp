// Messages: a send and a receive of one channel meet, and the transfer is priced.
//
// The transfers of a sender take its port in the order of the times at which both their sides were
// posted, then of posting. So virtual time is a function of the program: it does not depend on
// which rank ran when. A transfer is priced as soon as it is known to be its sender's next one, and
// otherwise when all ranks are blocked, the earliest first. One over network cards, where ranks
// meet that do not know of each other, is always of the latter kind, and happens in two steps: out
// of the sender's node, and into the receiver's.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

// Of one message. The sum over all of them does not depend on their order.
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

std::uint64_t checksum_of_bytes(const Operation& send) {
  return send.request.op == Op::isend ? send.request.checksum : checksum_of(send.request.data);
}

void count_leaving(RankCounters& sender, std::int64_t bytes) {
  sender.bytes_left_node += bytes;
  ++sender.messages_left_node;
}

bool agree(const Operation& send, const Operation& receive) {
  return send.request.count == receive.request.count && send.request.dtype == receive.request.dtype;
}

std::string side_of(const Operation& operation) {
  const Request& request = request_of(operation);
  return text(request.count, " ", name_of(request.dtype), and_place(request));
}

}  // namespace

std::int64_t bytes_of(const Request& request) {
  return request.count * static_cast<std::int64_t>(bytes_of(request.dtype));
}

std::string place_of(const Request& request) { return place_of(request.file, request.line); }

std::string and_place(const Request& request) {
  const std::string place = place_of(request);
  return place.empty() ? place : text(" (", place, ")");
}

void Core::State::post_send(const OperationPtr& send) {
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

void Core::State::post_receive(const OperationPtr& receive) {
  const Message& request = receive->request;
  const int src = groups_[request.group].member(request.peer);
  Channel& channel = channels_.of_receive({request.group, src, receive->owner.rank, request.tag});
  if (channel.has_sends()) {
    meet(channel.pop(), receive);
  } else {
    channel.push(receive);
  }
}

void Core::State::meet(const OperationPtr& send, const OperationPtr& receive) {
  send->ready_s = std::max(send->posted_s, receive->posted_s);
  send->met = receive->met = true;
  if (is_next(*send, *receive)) return transfer(*send, *receive);
  send->receive = receive.get();
  put({send->ready_s, send, receive});
}

void Core::State::put(Match match) {
  matches_.push_back(std::move(match));
  std::push_heap(matches_.begin(), matches_.end(), later);
}

// Whether no other transfer can come before it at its sender's port: none is open, and what the
// sender posts from now on is posted later. Of a card it cannot be known. What does not agree has
// to wait, so that of several the same one is found whoever ran first.
bool Core::State::is_next(const Operation& send, const Operation& receive) const {
  const Strand& sender = *main_[static_cast<std::size_t>(send.owner.rank)];
  if (!at_once_ || sender.open_sends != 1 || !sender.alone) return false;
  if (links_.over_cards(send.owner.rank, receive.owner.rank)) return false;
  return (sender.clock_s >= send.ready_s || sender.waits_on.get() == &send) && agree(send, receive);
}

bool Core::State::later(const Match& a, const Match& b) {
  const auto key = [](const Match& match) {
    return std::tuple(match.at_s, match.send->owner.rank, match.send->order);
  };
  return key(b) < key(a);
}

// All ranks are blocked. What comes of a step of a transfer is posted when it is over or later; so
// those that are ready by then come before it.
bool Core::State::transfer_matches() {
  bool moved = false;
  double until_s = earliest_ready_s();
  while (!matches_.empty() && matches_.front().at_s <= until_s && !finding_) {
    std::pop_heap(matches_.begin(), matches_.end(), later);
    Match match = std::move(matches_.back());
    matches_.pop_back();
    moved = true;
    Operation& send = *match.send;
    Operation& receive = *match.receive;
    if (match.left) {
      if (!receive.done) enter_node(match);
      until_s = std::min(until_s, receive.done_s);
      continue;
    }
    if (send.receive == nullptr) {
      matches_over_ -= matches_over_ > 0 ? 1 : 0;
      continue;
    }
    if (!agree(send, receive)) {
      disagree(send, receive);
      break;
    }
    if (links_.over_cards(send.owner.rank, receive.owner.rank)) {
      leave_node(match);
    } else {
      transfer(send, receive);
    }
    if (at_once_ || links_.have_cards()) {
      until_s = std::min(until_s, send.done ? send.done_s : send.ready_s);
    }
  }
  return moved;
}

// Where strands go one at a time, some are ready, and what they do may come before.
double Core::State::earliest_ready_s() const {
  double earliest_s = std::numeric_limits<double>::infinity();
  if (!links_.have_cards()) return earliest_s;
  for (const Ready& ready : ready_by_time_) earliest_s = std::min(earliest_s, ready.time_s);
  return earliest_s;
}

// One of matches_ was transferred because its sender waits for it. They go when they are many.
void Core::State::forget_one_match() {
  if (++matches_over_ < matches_.size() / 2 + 64) return;
  std::erase_if(matches_,
                [](const Match& match) { return match.send->receive == nullptr && !match.left; });
  std::make_heap(matches_.begin(), matches_.end(), later);
  matches_over_ = 0;
}

void Core::State::disagree(const Operation& send, const Operation& receive) {
  const int src = send.owner.rank, dst = receive.owner.rank;
  found({Verdict::mismatch,
         text("mismatch: rank ", src, " sends ", side_of(send), " to rank ", dst,
              ", which expects ", side_of(receive)),
         {src, dst},
         place_of(request_of(send))});
}

void Core::State::transfer(Operation& send, Operation& receive) {
  const int src = send.owner.rank, dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  take_off(send);
  if (striking_ && is_doomed(send, receive)) return;
  const auto way = links_.pass(src, dst, bytes, send.ready_s,
                               striking_ ? striking_->change(src, dst) : LinkChange{});
  if (striking_ && is_doomed(send, receive, way.sent_s, way.arrived_s)) return;
  send.done_s = way.sent_s;
  receive.done_s = way.arrived_s;
  if (way.leaves_node) count_leaving(counters_.ranks[static_cast<std::size_t>(src)], bytes);
  const std::uint64_t checksum = checksum_of_bytes(send);
  sent(send, receive);
  received(send, receive, way.begin_s, checksum);
  resume(send);
  resume(receive);
}

void Core::State::leave_node(Match match) {
  Operation& send = *match.send;
  Operation& receive = *match.receive;
  const int src = send.owner.rank, dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  take_off(send);
  if (striking_ && is_doomed(send, receive)) return;
  const auto way = links_.depart(src, bytes, send.ready_s,
                                 striking_ ? striking_->change(src, dst) : LinkChange{});
  if (striking_ && is_doomed(send, receive, way.sent_s, way.last_byte_s)) return;
  send.done_s = way.sent_s;
  receive.done_s = way.last_byte_s;  // not before; enter_node says when
  count_leaving(counters_.ranks[static_cast<std::size_t>(src)], bytes);
  match.left = {way.begin_s, checksum_of_bytes(send)};
  match.at_s = way.first_byte_s;
  sent(send, receive);
  resume(send);
  put(std::move(match));
}

void Core::State::enter_node(const Match& match) {
  const Operation& send = *match.send;
  Operation& receive = *match.receive;
  receive.done_s = links_.arrive(receive.owner.rank, bytes_of(send.request), receive.done_s);
  received(send, receive, match.left->begin_s, match.left->checksum);
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
  receive.done = true;
}

}  // namespace lockstep::sim
