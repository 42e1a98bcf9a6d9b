// Messages: a send and a receive of one channel meet, and the transfer is priced. A rendezvous
// moves no bytes here: the receiver's reply refers to the sender's payload.
#include <algorithm>

#include "engine/sim/core_state.hpp"

namespace lockstep::sim {

namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3ULL;
  hash ^= hash >> 29;
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
  send->depth = strand_of(send->owner).depth + 1;
  auto& counters = counters_.ranks[static_cast<std::size_t>(src)];
  counters.bytes_sent += bytes_of(request);
  ++counters.messages_sent;
  Channel& channel = channels_[{request.group, src, dst, request.tag}];
  if (channel.receives.empty()) {
    channel.sends.push_back(send);
  } else {
    matches_.push_back({send, std::move(channel.receives.front())});
    channel.receives.pop_front();
  }
}

void Core::State::post_receive(const OperationPtr& receive) {
  const Request& request = receive->request;
  const int src = groups_[request.group].members[static_cast<std::size_t>(request.peer)];
  Channel& channel = channels_[{request.group, src, receive->owner.rank, request.tag}];
  if (channel.sends.empty()) {
    channel.receives.push_back(receive);
  } else {
    matches_.push_back({std::move(channel.sends.front()), receive});
    channel.sends.pop_front();
  }
}

// The order in which transfers take the senders' ports depends on times and program order alone,
// not on the seed: by the time both sides were posted, then source, then order of posting.
void Core::State::transfer_matches() {
  const auto key = [](const Match& match) {
    return std::tuple(std::max(match.send->posted_s, match.receive->posted_s),
                      match.send->owner.rank, match.send->order);
  };
  auto matches = std::exchange(matches_, {});
  std::sort(matches.begin(), matches.end(),
            [&](const Match& a, const Match& b) { return key(a) < key(b); });
  for (const Match& match : matches) transfer(match);
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
  const Network& network = options_.network;
  double& port_free = port_free_s_[static_cast<std::size_t>(src)];
  const double begin = std::max({send.posted_s, receive.posted_s, port_free});
  port_free = begin + network.gap_s + static_cast<double>(bytes) / network.bandwidth_bytes_s;
  send.done_s = port_free;
  receive.done_s = port_free + network.latency_s;
  receive.depth = send.depth;
  receive.reply.data = send.request.data;

  auto& counters = counters_.ranks[static_cast<std::size_t>(dst)];
  counters.bytes_received += bytes;
  ++counters.messages_received;
  counters_.depth = std::max(counters_.depth, send.depth);
  counters_.messages.push_back(
      {src, dst, send.request.tag, send.request.group, bytes, send.depth, begin, receive.done_s});
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
