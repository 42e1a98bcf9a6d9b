#include "grader/exam/collective/rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "grader/exam/collective/par_rules.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

std::string amount(std::int64_t count, const char* what) {
  return text(grouped(count), " ", what, count == 1 ? "" : "s");
}

std::string amount(const Range& range, const char* what) {
  if (range.least == range.most) return amount(range.most, what);
  if (range.least == 0) return text("at most ", amount(range.most, what));
  if (range.most == Range{}.most) return text("at least ", amount(range.least, what));
  return text(grouped(range.least), " to ", amount(range.most, what));
}

// Counts the messages of each size that a rank sent, or received: elements → messages.
using MessageSizes = std::map<std::int64_t, std::int64_t>;

MessageSizes sizes_of(const Played& played, std::size_t rank, int sim::MessageRecord::*end,
                      std::int64_t element) {
  MessageSizes sizes;
  for (const auto& message : played.counters.messages) {
    if (std::cmp_equal(message.*end, rank)) ++sizes[message.bytes / element];
  }
  return sizes;
}

// "6 messages of 40 elements, 2 of 1", the largest first.
std::string text_of(const MessageSizes& sizes) {
  constexpr std::size_t shown = 3;
  std::string all;
  std::size_t kinds = 0;
  for (auto at = sizes.rbegin(); at != sizes.rend() && kinds < shown; ++at, ++kinds) {
    all += all.empty() ? text(amount(at->second, "message"), " of ", amount(at->first, "element"))
                       : text(", ", grouped(at->second), " of ", grouped(at->first));
  }
  return all + (sizes.size() > shown ? ", and others" : "");
}

// Small messages that are as many elements as were too many: then they are it, and not the way of
// the data.
std::optional<std::string> why_small(const MessageSizes& sizes, std::int64_t beyond,
                                     const char* verb) {
  for (const auto& [size, messages] : sizes) {
    if (4 * size > sizes.rbegin()->first) break;
    if (size == 0 || beyond % size != 0 || beyond / size > messages) continue;
    return text("besides the data, it ", verb, " ", amount(beyond / size, "message"), " of ",
                amount(size, "element"));
  }
  return std::nullopt;
}

class PriceCheck {
 public:
  PriceCheck(CaseRunner& runner, const Played& played, const Price& price)
      : runner_(runner), played_(played), price_(price) {}

  // Elements of one of `size` ranks; `total` were sent by all.
  void elements(const Range& range, std::int64_t seen, const std::string& who, const char* verb,
                const std::string& cause, std::int64_t total, int size,
                const MessageSizes& messages) {
    const std::int64_t beyond = std::max(seen - range.most, range.least - seen);
    const bool uneven = !price_.why_uneven.empty() && total == price_.total && beyond <= 2 * size;
    if (beyond <= 0 || !uneven) {
      const auto small = why_small(messages, seen - range.most, verb);
      const auto why = price_.bytes_cause ? price_.bytes_cause(played_) : price_.why_bytes;
      within(range, seen, who, verb, "element", cause, small.value_or(why),
             text(" (", text_of(messages), ")"));
      return;
    }
    Failure failure = outside(range, seen, who, verb, "element", cause, price_.why_uneven);
    failure.verdict = Verdict::efficiency;
    failure.cause = "uneven";
    runner_.fail(played_, std::move(failure));
  }

  // did: "sent 7 messages", is outside the range: efficiency above it, wrong answer below it.
  void within(const Range& range, std::int64_t seen, const std::string& who, const char* verb,
              const char* what, const std::string& cause, const std::string& why,
              const std::string& in_all = {}) {
    if (seen >= range.least && seen <= range.most) return;
    const bool above = seen > range.most;
    Failure failure = outside(
        range, seen, who, verb, what, cause,
        above ? why : "other ranks do the work of this rank, or its data travels in another way",
        in_all);
    failure.verdict = above ? Verdict::efficiency : Verdict::wrong_answer;
    failure.cause = text(above ? "too_many_" : "too_few_", cause);
    runner_.fail(played_, std::move(failure));
  }

 private:
  Failure outside(const Range& range, std::int64_t seen, const std::string& who, const char* verb,
                  const char* what, const std::string& cause, const std::string& why,
                  const std::string& in_all = {}) const {
    Failure failure;
    failure.seen = amount(seen, what);
    failure.expected = amount(range, what);
    failure.where = who;
    failure.counters = {{cause, static_cast<double>(seen)},
                        {cause + "_max", static_cast<double>(range.most)}};
    failure.message = text("the result is right, but ", who, " ", verb, " ", failure.seen, in_all,
                           " where ", price_.shape, " needs ", failure.expected,
                           why.empty() ? std::string() : text("; likely cause: ", why));
    return failure;
  }

  CaseRunner& runner_;
  const Played& played_;
  const Price& price_;
};

// The other end of a message, where `rank` is this one.
std::optional<int> peer_of(int mine, int other, std::size_t rank) {
  return std::cmp_equal(mine, rank) ? std::optional(other) : std::nullopt;
}

std::int64_t ranks_met(const Played& played, const auto& peer) {
  std::set<int> met;
  for (const auto& message : played.counters.messages) {
    if (const auto other = peer(message)) met.insert(*other);
  }
  return std::ssize(met);
}

// Too many messages, and not to too many ranks.
std::string why_pieces(std::int64_t messages, std::int64_t ranks, const char* way) {
  return text(messages, " messages go ", way, " ", ranks, ranks == 1 ? " rank" : " ranks",
              "; the buffer travels in pieces, or more than once");
}

// Checks who sends to whom, which is part of an algorithm.
void check_reach(CaseRunner& runner, const Played& played, const CollectiveProblem& p,
                 const Price& price) {
  for (const auto& message : played.counters.messages) {
    const int right = (message.dst - message.src + p.size()) % p.size();
    if (std::min(right, p.size() - right) <= price.reach) continue;
    Failure failure;
    failure.verdict = Verdict::efficiency;
    failure.cause = "not_neighbours";
    failure.seen = text("rank ", message.src, " sent to rank ", message.dst);
    failure.expected = "messages to a neighbour on the ring";
    failure.where = text("rank ", message.src);
    failure.message =
        text("the result is right, but ", failure.seen, ", which is not its neighbour; ",
             price.shape, " sends to neighbours only");
    runner.fail(played, failure);
  }
}

}  // namespace

void check_price(CaseRunner& runner, const Played& played, const CollectiveProblem& p,
                 const Price& price, std::int64_t bytes_peak) {
  check_messages_only(runner, played, text("the messages of ", price.shape));
  PriceCheck check(runner, played, price);
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  std::int64_t total = 0;
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    total += played.counters.ranks[rank].bytes_sent / size;
  }
  const int any = std::numeric_limits<int>::max();
  const auto upto = [](std::int64_t most) { return Range{0, most}; };
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    const auto& counted = played.counters.ranks[rank];
    const std::string who = text("rank ", rank);
    if (!price.sent.empty()) {
      check.elements(price.sent[rank], counted.bytes_sent / size, who, "sent", "elements_sent",
                     total, p.size(), sizes_of(played, rank, &sim::MessageRecord::src, size));
    }
    if (!price.received.empty()) {
      check.elements(price.received[rank], counted.bytes_received / size, who, "received",
                     "elements_received", total, p.size(),
                     sizes_of(played, rank, &sim::MessageRecord::dst, size));
    }
    if (price.sends != any) {
      const auto to = ranks_met(played, [&](const auto& m) { return peer_of(m.src, m.dst, rank); });
      check.within(upto(price.sends), counted.messages_sent, who, "sent", "message", "messages",
                   to > price.sends ? price.why_fan : why_pieces(counted.messages_sent, to, "to"));
    }
    if (price.receives != any) {
      const auto of = ranks_met(played, [&](const auto& m) { return peer_of(m.dst, m.src, rank); });
      check.within(
          upto(price.receives), counted.messages_received, who, "received", "message", "messages",
          of > price.receives ? price.why_fan : why_pieces(counted.messages_received, of, "from"));
    }
  }
  if (price.total) {
    check.within({*price.total, *price.total}, total, "all ranks together", "sent", "element",
                 "elements_sent", price.why_bytes);
  }
  if (price.messages) {
    const auto sent = static_cast<std::int64_t>(played.counters.messages.size());
    check.within({*price.messages, *price.messages}, sent, "all ranks together", "sent", "message",
                 "messages", price.why_messages);
  }
  if (price.depth != any) {
    check.within(upto(price.depth), played.counters.depth, "the longest chain",
                 "of messages that wait for each other has", "message", "messages",
                 price.depth_cause ? price.depth_cause(played) : price.why_depth);
  }
  if (price.reach != any) check_reach(runner, played, p, price);
  if (price.room) {
    check.within(upto(*price.room), bytes_peak / size, "one rank", "allocated", "element", "room",
                 price.why_room);
  }
  if (played.counters.makespan_s > price.seconds) {
    Failure failure;
    failure.verdict = Verdict::efficiency;
    failure.cause = "too_slow";
    failure.seen = text(played.counters.makespan_s * 1e6, " µs");
    failure.expected = text("at most ", price.seconds * 1e6, " µs");
    failure.message =
        text("the result and the bytes are right, but the call took ", failure.seen,
             " of virtual time where ", price.shape, " takes ", failure.expected,
             "; likely cause: ", price.time_cause ? price.time_cause(played) : price.why_time);
    runner.fail(played, failure);
  }
  note_par(runner, played, p);
}

std::function<std::string(const Played&)> time_of_tree(int levels, std::string otherwise) {
  return [levels, otherwise](const Played& played) {
    std::int64_t most = 0;
    for (int rank = 0; std::cmp_less(rank, played.counters.ranks.size()); ++rank) {
      double last_s = 0;  // when the rank received for the last time; then it serves others
      for (const auto& message : played.counters.messages) {
        if (message.dst == rank) last_s = std::max(last_s, message.arrived_s);
      }
      most = std::max(most, std::ranges::count_if(played.counters.messages, [&](const auto& one) {
                        return one.src == rank && one.sent_s >= last_s;
                      }));
    }
    if (most >= levels) return otherwise;
    return text(
        "no rank has more than ", most,
        " children in the tree, so ranks that are done with theirs stand still while others "
        "are busy; in a binomial tree the first rank has ",
        levels, " of them, and is busy in every step");
  };
}

double message_seconds(const CollectiveProblem& p, std::int64_t count) {
  const sim::Network network;
  const auto bytes = static_cast<double>(count) * static_cast<double>(bytes_of(p.dtype));
  return network.latency_s + network.gap_s + bytes / network.bandwidth_bytes_s;
}

}  // namespace lockstep::grader
