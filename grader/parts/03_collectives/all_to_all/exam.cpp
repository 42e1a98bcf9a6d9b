// The exam of all_to_all: every block reaches its owner and is sent once, and no rank waits for
// another.
#include <algorithm>

#include "grader/exam/collective/rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::all_to_all {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;  // [from][to]

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  std::int64_t all = 0;
  for (const std::int64_t count : counts) all += count;
  return all;
}

Scene scene(const CollectiveProblem& p, std::uint64_t salt, int call) {
  Scene scene;
  std::vector<std::vector<double>> in, out(p.ranks());
  for (std::size_t from = 0; from < p.ranks(); ++from) {
    in.push_back(distinct(p, salt, call, static_cast<int>(from), sum(p.sends[from])));
    auto at = in.back().begin();
    for (std::size_t to = 0; to < p.ranks(); ++to) {
      out[to].insert(out[to].end(), at, at + p.sends[from][to]);
      at += p.sends[from][to];
    }
  }
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    scene.ranks.push_back({{.name = "in",
                            .count = static_cast<std::int64_t>(in[rank].size()),
                            .before = in[rank],
                            .after = in[rank]},
                           {.name = "out",
                            .count = static_cast<std::int64_t>(out[rank].size()),
                            .before = {},
                            .after = out[rank]}});
  }
  return scene;
}

Counts equal_counts(int n, std::int64_t count) {
  return Counts(static_cast<std::size_t>(n),
                std::vector<std::int64_t>(static_cast<std::size_t>(n), count));
}

// From none to very many.
Counts drawn_counts(CaseRunner& runner, int n) {
  Counts counts = equal_counts(n, 0);
  const std::uint64_t salt = runner.draw();
  std::uint64_t i = 0;
  for (auto& row : counts) {
    for (std::int64_t& count : row) {
      const std::uint64_t bits = keyed_bits(salt, i++);
      const std::int64_t kinds[] = {0, 1, static_cast<std::int64_t>(bits >> 40) % 10, 97};
      count = kinds[bits % 4];
    }
  }
  return counts;
}

bool all_equal(const CollectiveProblem& p) {
  return p.sends == equal_counts(p.size(), p.sends[0][0]);
}

// Equal lengths where a case is about something else; else some equal, and some not.
void draw_lengths(CaseRunner& runner, CollectiveProblem& p) {
  const bool plain = p.count <= 1 || p.count % p.size() == 0 || p.count > 1 << 14 || p.death ||
                     p.values != Values::usual;
  p.sends = plain ? equal_counts(p.size(), p.count) : drawn_counts(runner, p.size());
}

std::string text_of_lengths(const CollectiveProblem& p) {
  return all_equal(p) ? "blocks of " : "blocks of different lengths instead of ";
}

std::vector<std::int64_t> counts(const CollectiveProblem& p, int rank) {
  std::int64_t received = 0;
  for (const auto& row : p.sends) received += row[static_cast<std::size_t>(rank)];
  return {sum(p.sends[static_cast<std::size_t>(rank)]), received};
}

// The rank to which all others send first, if there is one.
std::optional<int> first_partner_of_all(const Played& played, int n) {
  std::vector<const sim::MessageRecord*> first(static_cast<std::size_t>(n));
  for (const auto& message : played.counters.messages) {
    auto& known = first[static_cast<std::size_t>(message.src)];
    if (known == nullptr || message.sent_s < known->sent_s) known = &message;
  }
  for (int partner = 0; partner < n && n > 2; ++partner) {
    const auto begins = [&](const auto* message) {
      return message != nullptr && (message->src == partner || message->dst == partner);
    };
    if (std::ranges::all_of(first, begins)) return partner;
  }
  return std::nullopt;
}

// Why equal blocks took longer than N-1 messages of their size.
std::string why_late(const Played& played, int n) {
  const auto partner = first_partner_of_all(played, n);
  return text(partner ? text("all other ranks begin with rank ", *partner,
                             ", which serves one of them at a time; ")
                      : "",
              "N-1 = ", n - 1, n == 2 ? " step is" : " steps are",
              " enough if in each of them every rank has a partner to send to and one to receive "
              "from, whatever N is");
}

Price price(const CollectiveProblem& p) {
  Price price;
  price.shape = "an all-to-all in which each block goes straight to its owner";
  for (std::size_t rank = 0; rank < p.ranks(); ++rank) {
    std::int64_t sent = 0, received = 0;
    for (std::size_t other = 0; other < p.ranks(); ++other) {
      if (other == rank) continue;
      sent += p.sends[rank][other];
      received += p.sends[other][rank];
    }
    price.sent.push_back({sent, sent});
    price.received.push_back({received, received});
  }
  price.why_bytes = "blocks are sent to ranks other than their owner, or more than once";
  if (all_equal(p)) {
    price.seconds = 1.1 * (p.size() - 1) * message_seconds(p, p.sends[0][0]);
    price.time_cause = [n = p.size()](const Played& played) { return why_late(played, n); };
  }
  return price;
}

}  // namespace

Exam exam() {
  return collective_exam(
      {.values =
           "block j of rank i becomes block i of rank j, for equal and for different lengths, "
           "some of them 0",
       .cost = "each block is sent once, and with equal lengths no rank waits for another",
       .oracle = scene,
       .counts = counts,
       .price = price,
       .large = (1 << 16) / 3 + 1,
       .complete = draw_lengths,
       .besides = text_of_lengths});
}

}  // namespace lockstep::grader::all_to_all
