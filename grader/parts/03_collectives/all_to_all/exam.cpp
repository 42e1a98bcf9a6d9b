// The exam of all_to_all: every block reaches its owner and is sent once, and no rank waits for
// another.
#include "engine/base/random.hpp"
#include "grader/exam/collective_rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

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
      const std::uint64_t bits = random_bits(salt, i++);
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
    price.why_time = "all ranks begin with the same partner, which serves one of them at a time";
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
