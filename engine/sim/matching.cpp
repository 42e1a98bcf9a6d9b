// Messages: a send and a receive of one channel meet, and the transfer is priced. A rendezvous
// moves no bytes here: the receiver's reply refers to the sender's payload.
#include <algorithm>
#include <cstring>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3ULL;
  hash ^= hash >> 29;
}

// Bytes with an owner are passed on as they are. Those of a Message lie in the sender's memory, or
// are kept with an isend: they go where they are wanted, or are kept until somebody waits.
void deliver(Operation& send, Operation& receive) {
  const Payload& sent = send.request.data;
  if (sent.owner || sent.bytes.empty()) {
    receive.reply.data = sent;
  } else if (receive.into.size() == sent.bytes.size()) {
    std::memcpy(receive.into.data(), sent.bytes.data(), sent.bytes.size());
    receive.reply.data.bytes = receive.into;
  } else if (sent.bytes.data() == send.kept.data()) {
    std::swap(receive.kept, send.kept);
    receive.reply.data.bytes = receive.kept;
  } else {
    receive.kept.assign(sent.bytes.begin(), sent.bytes.end());
    receive.reply.data.bytes = receive.kept;
  }
}

std::string side_of(const Operation& operation) {
  const Request& request = operation.request;
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
  const Request& request = send->request;
  const int src = send->owner.rank;
  const int dst = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
  auto& counters = counters_.ranks[static_cast<std::size_t>(src)];
  counters.bytes_sent += bytes_of(request);
  ++counters.messages_sent;
  Channel& channel = channels_.of_send({request.group, src, dst, request.tag});
  if (channel.receives.empty()) {
    channel.sends.push(send);
  } else {
    matches_.push_back({send, channel.receives.pop()});
  }
}

void Core::State::post_receive(const OperationPtr& receive) {
  const Request& request = receive->request;
  const int src = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
  Channel& channel = channels_.of_receive({request.group, src, receive->owner.rank, request.tag});
  if (channel.sends.empty()) {
    channel.receives.push(receive);
  } else {
    matches_.push_back({channel.sends.pop(), receive});
  }
}

// The order in which transfers take a sender's port depends on times and program order alone, not
// on the seed: by the time both sides were posted, then order of posting. Senders do not touch each
// other, and go by rank.
void Core::State::transfer_matches() {
  const auto key = [](const Match& match) {
    return std::tuple(match.send->owner.rank,
                      std::max(match.send->posted_s, match.receive->posted_s), match.send->order);
  };
  const auto before = [&](const Match& a, const Match& b) { return key(a) < key(b); };
  if (matches_.size() > by_sender_.size() / 4) {
    for (Match& match : matches_) {
      by_sender_[static_cast<std::size_t>(match.send->owner.rank)].push_back(std::move(match));
    }
    for (auto& of_one : by_sender_) {
      if (of_one.size() > 1) std::sort(of_one.begin(), of_one.end(), before);
      for (const Match& match : of_one) transfer(match);
      of_one.clear();
    }
  } else {
    std::sort(matches_.begin(), matches_.end(), before);
    for (const Match& match : matches_) transfer(match);
  }
  matches_.clear();
}

void Core::State::transfer(const Match& match) {
  Operation& send = *match.send;
  Operation& receive = *match.receive;
  const int src = send.owner.rank;
  const int dst = receive.owner.rank;
  if (send.request.count != receive.request.count || send.request.dtype != receive.request.dtype) {
    return found({Verdict::mismatch,
                  text("mismatch: rank ", src, " sends ", side_of(send), " to rank ", dst,
                       ", which expects ", side_of(receive)),
                  {src, dst},
                  place_of(send.request)});
  }
  const std::int64_t bytes = bytes_of(send.request);
  if (striking_ && is_doomed(match)) return;
  const auto [begin, sent, arrived, leaves_node] =
      links_.pass(src, dst, bytes, std::max(send.posted_s, receive.posted_s),
                  striking_ ? striking_->change(src, dst) : LinkChange{});
  if (striking_ && is_doomed(match, sent, arrived)) return;
  send.done_s = sent;
  receive.done_s = arrived;
  receive.depth = send.depth;
  deliver(send, receive);

  if (leaves_node) {
    auto& sender = counters_.ranks[static_cast<std::size_t>(src)];
    sender.bytes_left_node += bytes;
    ++sender.messages_left_node;
  }
  auto& counters = counters_.ranks[static_cast<std::size_t>(dst)];
  counters.bytes_received += bytes;
  ++counters.messages_received;
  counters_.depth = std::max(counters_.depth, send.depth);
  if (options_.record == Record::everything) {
    counters_.messages.push_back(
        {src, dst, send.request.tag, send.request.group, bytes, send.depth, begin, receive.done_s});
  }
  if (recorder_) recorder_->sent(send, src, dst, begin, arrived);
  mix(counters_.trace_hash,
      static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint32_t>(dst));
  mix(counters_.trace_hash, static_cast<std::uint64_t>(send.request.group) << 32 |
                                static_cast<std::uint32_t>(send.request.tag));
  mix(counters_.trace_hash, static_cast<std::uint64_t>(bytes));
  mix(counters_.trace_hash,
      send.request.op == Op::isend ? send.checksum : checksum_of(send.request.data.bytes));
  send.request.data = {};
  send.done = receive.done = true;
  resume(match.send);
  resume(match.receive);
}

}  // namespace lockstep::sim
