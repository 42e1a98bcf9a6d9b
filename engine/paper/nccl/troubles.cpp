// Finds which rank waits for which, and which one said something else.
#include "engine/paper/nccl/troubles.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/paper/nccl/values.hpp"

namespace lockstep::paper {
namespace {

Seat& seat_of(SharedTable& table, int rank) { return table.seats[static_cast<std::size_t>(rank)]; }
Mailbox& mail_of(SharedTable& table, int from, int to) {
  return table.mail[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}
const Call& call_of(SharedTable& table, int rank, std::uint64_t number) {
  return seat_of(table, rank).calls[number % 2];
}

std::string the_rank(int rank) { return "rank " + std::to_string(rank); }

const char* function_of(std::int32_t kind) {
  constexpr std::array<const char*, 5> names{"ncclAllReduce", "ncclBroadcast", "ncclReduce",
                                             "ncclAllGather", "ncclReduceScatter"};
  return names.at(static_cast<std::size_t>(kind));
}

bool has_root(std::int32_t kind) {
  return kind == static_cast<int>(CommCallKind::broadcast) ||
         kind == static_cast<int>(CommCallKind::reduce);
}

bool reduces(std::int32_t kind) {
  return kind != static_cast<int>(CommCallKind::broadcast) &&
         kind != static_cast<int>(CommCallKind::all_gather);
}

std::string of_elements(std::uint64_t count, std::int32_t type) {
  return "of " + std::to_string(count) + (count == 1 ? " element" : " elements") + " of " +
         name_of(static_cast<ncclDataType_t>(type));
}

std::string whole(const Call& call) {
  std::string text = std::string(function_of(call.kind)) + " " + of_elements(call.count, call.type);
  if (reduces(call.kind)) text += std::string(", ") + name_of(static_cast<ncclRedOp_t>(call.op));
  if (has_root(call.kind)) text += ", root " + std::to_string(call.root);
  return text;
}

// The second call beside the first: only what differs, if the function is the same.
std::string difference(const Call& call, const Call& other) {
  if (other.kind != call.kind) return "calls " + whole(other);
  if (other.type != call.type) return of_elements(other.count, other.type);
  if (other.count != call.count) return "of " + std::to_string(other.count);
  if (other.op != call.op) {
    return std::string("with ") + name_of(static_cast<ncclRedOp_t>(other.op));
  }
  return "with root " + std::to_string(other.root);
}

bool same(const Call& a, const Call& b) {
  return a.kind == b.kind && a.type == b.type && a.count == b.count &&
         (!reduces(a.kind) || a.op == b.op) && (!has_root(a.kind) || a.root == b.root);
}

struct Wait {
  int rank = 0, peer = 0;
  enum class In { collective, send, receive } in{};
  std::uint64_t number = 0;
};

// The number of the collective that the rank is in, or 0.
std::uint64_t collective_of(SharedTable& table, int rank) {
  const Seat& seat = seat_of(table, rank);
  const std::uint64_t number = std::max(seat.calls[0].number, seat.calls[1].number);
  return number > seat.done ? number : 0;
}

// For which ranks `rank` waits that have not come to their side of it.
std::vector<Wait> waits_of(SharedTable& table, int ranks, int rank) {
  std::vector<Wait> all;
  const std::uint64_t number = collective_of(table, rank);
  for (int peer = 0; peer < ranks; ++peer) {
    if (number != 0 && call_of(table, peer, number).number < number) {
      all.push_back({rank, peer, Wait::In::collective, number});
    }
    const Mailbox& to = mail_of(table, rank, peer);
    if (to.sent > to.taken && to.wanted < to.sent) {
      all.push_back({rank, peer, Wait::In::send, to.sent});
    }
    const Mailbox& from = mail_of(table, peer, rank);
    if (from.wanted > from.taken && from.sent < from.wanted) {
      all.push_back({rank, peer, Wait::In::receive, from.wanted});
    }
  }
  return all;
}

std::string said(SharedTable& table, const Wait& wait) {
  switch (wait.in) {
    case Wait::In::send:
      return the_rank(wait.rank) + " sends to " + the_rank(wait.peer);
    case Wait::In::receive:
      return the_rank(wait.rank) + " receives from " + the_rank(wait.peer);
    case Wait::In::collective:
      break;
  }
  return the_rank(wait.rank) + " is in " +
         function_of(call_of(table, wait.rank, wait.number).kind) + " (call " +
         std::to_string(wait.number) + ")";
}

// A way of waits from the last one of `way` back to its first rank; empty where there is none.
bool comes_back(SharedTable& table, int ranks, std::vector<Wait>& way, std::vector<bool>& seen) {
  const int at = way.back().peer;
  if (at == way.front().rank) return true;
  if (seen[static_cast<std::size_t>(at)] || seat_of(table, at).to_come > 0) return false;
  seen[static_cast<std::size_t>(at)] = true;
  for (const Wait& next : waits_of(table, ranks, at)) {
    way.push_back(next);
    if (comes_back(table, ranks, way, seen)) return true;
    way.pop_back();
  }
  return false;
}

std::string circle(SharedTable& table, const std::vector<Wait>& way) {
  std::string text;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (i > 0) text += i + 1 == way.size() ? " and " : ", ";
    text += said(table, way[i]);
  }
  const auto all = [&](Wait::In in) {
    return std::ranges::all_of(way, [&](const Wait& wait) { return wait.in == in; });
  };
  const bool messages =
      std::ranges::none_of(way, [](const Wait& wait) { return wait.in == Wait::In::collective; });
  if (all(Wait::In::send)) text += way.size() == 2 ? ", neither receives" : ", none receives";
  if (all(Wait::In::receive)) text += way.size() == 2 ? ", neither sends" : ", none sends";
  text += messages ? ": a GPU waits for ever; put what each rank sends and receives between "
                     "ncclGroupStart and ncclGroupEnd"
                   : ": a GPU waits for ever; all ranks must call a communicator in the same order";
  return text;
}

}  // namespace

void compare_calls(SharedTable& table, int ranks, int rank, std::uint64_t number) {
  for (int other = 0; other < ranks; ++other) {
    const Call& first = call_of(table, std::min(rank, other), number);
    const Call& second = call_of(table, std::max(rank, other), number);
    if (first.number != number || second.number != number || same(first, second)) continue;
    tell(table, Trouble::disagreement,
         "call " + std::to_string(number) + ": " + the_rank(std::min(rank, other)) + " calls " +
             whole(first) + ", " + the_rank(std::max(rank, other)) + " " +
             difference(first, second));
  }
}

void compare_messages(SharedTable& table, int from, int to) {
  const Mailbox& mail = mail_of(table, from, to);
  if (mail.sent != mail.wanted || mail.taken == mail.sent) return;
  if (mail.offered.count == mail.awaited.count && mail.offered.type == mail.awaited.type) return;
  tell(table, Trouble::disagreement,
       "message " + std::to_string(mail.sent) + " from " + the_rank(from) + " to " + the_rank(to) +
           ": ncclSend " + of_elements(mail.offered.count, mail.offered.type) + ", ncclRecv " +
           of_elements(mail.awaited.count, mail.awaited.type));
}

void look_for_the_stuck(SharedTable& table, int ranks, int rank) {
  for (const Wait& wait : waits_of(table, ranks, rank)) {
    const Seat& peer = seat_of(table, wait.peer);
    if (peer.state == SeatState::left) {
      tell(table, Trouble::disagreement,
           said(table, wait) + ", but " + the_rank(wait.peer) +
               " has ended its communicator after " + std::to_string(peer.done) +
               " collective calls");
      return;
    }
    if (seat_of(table, rank).to_come > 0) continue;
    std::vector<Wait> way{wait};
    std::vector<bool> seen(static_cast<std::size_t>(ranks));
    if (!comes_back(table, ranks, way, seen)) continue;
    // Everybody says it from the lowest rank on.
    const auto lowest = std::ranges::min_element(way, {}, &Wait::rank);
    std::rotate(way.begin(), lowest, way.end());
    tell(table, Trouble::hang, circle(table, way));
    return;
  }
}

void give_up(SharedTable& table, int ranks, int rank) {
  for (const Wait& wait : waits_of(table, ranks, rank)) {
    const Seat& peer = seat_of(table, wait.peer);
    std::string why = " has not come to it";
    if (wait.in == Wait::In::collective) {
      why = peer.asked >= wait.number
                ? " has called it, but its stream has not come to it"
                : " has not called it (" + std::to_string(peer.asked) + " calls so far)";
    }
    tell(
        table, Trouble::hang,
        said(table, wait) + " and has waited " + seconds_text() + ": " + the_rank(wait.peer) + why);
    return;
  }
  tell(table, Trouble::hang,
       the_rank(rank) + " has waited " + seconds_text() +
           " for others that had come and do not go on");
}

}  // namespace lockstep::paper
