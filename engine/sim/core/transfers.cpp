// Messages whose turn at their sender's port, or at a network card, is not known at once.
//
// The transfers of a sender take its port in the order of the times at which both their sides were
// posted, then of posting. So virtual time is a function of the program: it does not depend on
// which rank ran when. A transfer that may not be its sender's next one is priced when all ranks
// are blocked, the earliest first. One over network cards, where ranks meet that do not know of
// each other, is always of this kind, and happens in two steps: out of the sender's node, and into
// the receiver's.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/sim/core/core_state.hpp"

namespace lockstep::sim {

namespace {

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

void Core::State::put(Match match) {
  matches_.push_back(std::move(match));
  std::push_heap(matches_.begin(), matches_.end(), later);
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

// If strands go one at a time, some are ready, and what they do may come before.
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
  found({FindingKind::mismatch,
         text("mismatch: rank ", src, " sends ", side_of(send), " to rank ", dst,
              ", which expects ", side_of(receive)),
         {src, dst},
         place_of(request_of(send))});
}

void Core::State::changed_in_flight(Actor actor, const Operation& operation) {
  const Request& asked = request_of(operation);
  const std::string what(asked.op == Op::icollective ? name_of(asked.collective)
                                                     : name_of(asked.op));
  found({FindingKind::in_flight,
         text("in flight: rank ", actor.rank, " changed the buffer of its ", what, and_place(asked),
              " before wait() returned; until then, the buffer belongs to the operation"),
         {actor.rank},
         place_of(asked),
         {},
         {found_call(operation)}});
}

void Core::State::leave_node(Match match) {
  Operation& send = *match.send;
  Operation& receive = *match.receive;
  const int src = send.owner.rank, dst = receive.owner.rank;
  const std::int64_t bytes = bytes_of(send.request);
  take_off(send);
  if (faults_ && is_doomed(send, receive)) return;
  const auto way =
      links_.depart(src, bytes, send.ready_s, faults_ ? faults_->change(src, dst) : LinkChange{});
  if (faults_ && is_doomed(send, receive, way.sent_s, way.last_byte_s)) return;
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

}  // namespace lockstep::sim
