// Messages: a send and a receive of one channel meet, and the transfer is priced.
//
// The transfers of a sender take its port in the order of the times at which both their sides were
// posted, then of posting. So virtual time is a function of the program: it does not depend on
// which rank ran when. A transfer is priced as soon as it is known to be its sender's next one, and
// otherwise when all ranks are blocked, the earliest first.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

// Of one message. The sum over all of them does not depend on their order.
std::uint64_t hash_of(const Operation& send, int dst, double arrived_s) {
  const auto both = [](auto high, auto low) {
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
  };
  const Message& sent = send.request;
  std::uint64_t hash = 0;
  for (const std::uint64_t value :
       {both(send.owner.rank, dst), both(sent.group, sent.tag),
        static_cast<std::uint64_t>(sent.count), std::bit_cast<std::uint64_t>(arrived_s),
        sent.op == Op::isend ? sent.checksum : checksum_of(sent.data)}) {
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
  matches_.push_back({send, receive});
  std::push_heap(matches_.begin(), matches_.end(), later);
}

// Whether no other transfer of its sender can come before: none is open, and what the sender posts
// from now on is posted later. What does not agree has to wait, so that of several the same one is
// found whoever ran first.
bool Core::State::is_next(const Operation& send, const Operation& receive) const {
  const Strand& sender = *main_[static_cast<std::size_t>(send.owner.rank)];
  if (!at_once_ || sender.open_sends != 1 || !sender.alone) return false;
  return (sender.clock_s >= send.ready_s || sender.waits_on.get() == &send) && agree(send, receive);
}

bool Core::State::later(const Match& a, const Match& b) {
  const auto key = [](const Match& match) {
    return std::tuple(match.send->ready_s, match.send->owner.rank, match.send->order);
  };
  return key(b) < key(a);
}

// All ranks are blocked. What comes of a transfer is posted when the transfer is over or later; so
// those that are ready by then come before it.
bool Core::State::transfer_matches() {
  const bool any = !matches_.empty() && !finding_;
  double until_s = std::numeric_limits<double>::infinity();
  while (!matches_.empty() && matches_.front().send->ready_s <= until_s && !finding_) {
    std::pop_heap(matches_.begin(), matches_.end(), later);
    const Match match = std::move(matches_.back());
    matches_.pop_back();
    Operation& send = *match.send;
    Operation& receive = *match.receive;
    if (send.receive == nullptr) {
      matches_over_ -= matches_over_ > 0 ? 1 : 0;
      continue;
    }
    if (!agree(send, receive)) {
      disagree(send, receive);
      break;
    }
    transfer(send, receive);
    if (!one_at_a_time_) until_s = std::min(until_s, send.done ? send.done_s : send.ready_s);
  }
  return any;
}

// One of matches_ was transferred because its sender waits for it. They go when they are many.
void Core::State::forget_one_match() {
  if (++matches_over_ < matches_.size() / 2 + 64) return;
  std::erase_if(matches_, [](const Match& match) { return match.send->receive == nullptr; });
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
  const int src = send.owner.rank;
  const int dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  send.receive = nullptr;
  --main_[static_cast<std::size_t>(src)]->open_sends;
  if (striking_ && is_doomed(send, receive)) return;
  const auto [begin, sent, arrived, leaves_node] = links_.pass(
      src, dst, bytes, send.ready_s, striking_ ? striking_->change(src, dst) : LinkChange{});
  if (striking_ && is_doomed(send, receive, sent, arrived)) return;
  send.done_s = sent;
  receive.done_s = arrived;
  receive.depth = send.depth;
  deliver(send, receive);

  auto& sender = counters_.ranks[static_cast<std::size_t>(src)];
  if (leaves_node) {
    sender.bytes_left_node += bytes;
    ++sender.messages_left_node;
  }
  auto& receiver = counters_.ranks[static_cast<std::size_t>(dst)];
  receiver.bytes_received += bytes;
  ++receiver.messages_received;
  counters_.depth = std::max(counters_.depth, send.depth);
  if (options_.record == Record::everything) {
    counters_.messages.push_back(
        {src, dst, send.request.tag, send.request.group, bytes, send.depth, begin, arrived});
  }
  if (recorder_) recorder_->sent(send, src, dst, begin, arrived);
  counters_.trace_hash += hash_of(send, dst, arrived);
  send.request.data = {};
  if (send.whole) send.whole->request.data = {};
  send.done = receive.done = true;
  resume(send);
  resume(receive);
}

}  // namespace lockstep::sim
