#include "grader/parts/15_sequence_parallel/ring_attention/costs.hpp"

#include <algorithm>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::ring_attention {
namespace {

std::int64_t block_bytes(const Problem& p, int rank) {
  return p.batch * p.slices()[at(rank)].count() * 2 * p.width() * p.filler *
         static_cast<std::int64_t>(bytes_of(p.dtype));
}

Cause cause_of_bytes(const Problem& p, int rank, std::int64_t sent, std::int64_t right) {
  std::int64_t all = 0;
  for (int r = 0; r < p.ranks(); ++r) all += block_bytes(p, r);
  if (sent == all) {
    return {"one_round_too_many",
            "each block goes round until it is at home again; N-1 exchanges bring every block to "
            "every rank"};
  }
  if (sent == (p.ranks() - 1) * block_bytes(p, rank) && sent != right) {
    return {"own_block_to_all",
            "the own block is sent to each other rank; pass on what came from the left"};
  }
  if (2 * sent == 3 * right) return {"queries_travel", "queries stay where they are"};
  return {"other_bytes", "in each of N-1 steps, a rank sends the block that it has, and no more"};
}

// The seconds for which a rank computes with another one's block.
double computing_s(const Problem& p, int rank, int owner) {
  const std::vector<Positions> slices = p.slices();
  const Positions &queries = slices[at(rank)], &keys = slices[at(owner)];
  const std::int64_t width = p.width() * p.filler;
  return attention_s({p.batch, queries.count(), width}, {p.batch, keys.count(), 2 * width},
                     {p.heads, queries, keys});
}

double transfer_s(const Problem& p, int owner) {
  const sim::Network network;
  return network.latency_s + network.gap_s +
         static_cast<double>(block_bytes(p, owner)) / network.bandwidth_bytes_s;
}

// When the last rank is done, if in each step both messages are posted before the block is computed
// with. Both sides have to have posted a message before it moves.
double hidden_s(const Problem& p) {
  const int n = p.ranks();
  std::vector<double> begins(at(n)), ends;
  for (int step = 0; step < n; ++step) {
    ends.clear();
    for (int rank = 0; rank < n; ++rank) {
      ends.push_back(begins[at(rank)] + computing_s(p, rank, (rank - step + n) % n));
    }
    std::vector<double> next = ends;
    for (int rank = 0; rank < n && step + 1 < n; ++rank) {
      const int owner = (rank - step + n) % n, right = (rank + 1) % n;
      const double arrived = std::max(begins[at(rank)], begins[at(right)]) + transfer_s(p, owner);
      next[at(rank)] = std::max(next[at(rank)], arrived);
      next[at(right)] = std::max(next[at(right)], arrived);
    }
    begins = next;
  }
  return *std::ranges::max_element(ends);
}

}  // namespace

// To the right.
void check_messages(CaseRunner& runner, const Played& played, const Problem& p) {
  check_messages_only(runner, played, "messages to its neighbours");
  const int n = p.ranks();
  for (int rank = 0; rank < n; ++rank) {
    std::int64_t right = 0;
    for (int step = 0; step + 1 < n; ++step) right += block_bytes(p, (rank - step + n) % n);
    const auto& seen = played.counters.ranks[at(rank)];
    const auto wrong = [&](const Cause& cause, const std::string& what) {
      Failure failure = wasteful(cause.name, static_cast<double>(seen.bytes_sent),
                                 static_cast<double>(right), text("from rank ", rank), what);
      runner.fail(played, because(cause, failure));
    };
    if (seen.bytes_sent != right) {
      wrong(cause_of_bytes(p, rank, seen.bytes_sent, right),
            text("the results are right, but rank ", rank, " sends ", grouped(seen.bytes_sent),
                 " bytes where ", n - 1, " blocks have ", grouped(right)));
    }
    if (seen.messages_sent == n - 1) continue;
    wrong({"other_messages", "keys and values are one tensor, and so one message a step"},
          text("the results are right, but rank ", rank, " sends ",
               counted(seen.messages_sent, "message"), " where ", n - 1, " are enough"));
  }
  for (const auto& message : played.counters.messages) {
    if (n < 3 || message.dst == (message.src + 1) % n) continue;
    Failure failure{.message = text("the results are right, but rank ", message.src,
                                    " sends to rank ", message.dst, ", which is not on its right"),
                    .expected = text("to rank ", (message.src + 1) % n),
                    .seen = text("to rank ", message.dst)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played, because({"no_neighbour",
                                 "a block goes to the right neighbour, which is one link away "
                                 "wherever the ring runs"},
                                failure));
  }
}

void check_computing(CaseRunner& runner, const Played& played, const Problem& p,
                     const AttentionService& attention) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    double least = 0;
    for (int owner = 0; owner < p.ranks(); ++owner) least += computing_s(p, rank, owner);
    const double seen = attention.computed_s(rank);
    if (seen >= least * (1 - 1e-9)) continue;
    Failure failure{.message = text("rank ", rank, " computes attention for ", seconds_text(seen),
                                    ", and attention to its blocks takes ", seconds_text(least)),
                    .expected = text("at least ", seconds_text(least)),
                    .seen = seconds_text(seen),
                    .where = text("rank ", rank)};
    failure.verdict = Verdict::efficiency;
    runner.fail(played, because({"computes_unseen",
                                 "blocks are computed with by something else than ops::attention, "
                                 "whose time the judge can see"},
                                failure));
  }
}

void check_time(CaseRunner& runner, const Played& played, const Problem& p) {
  constexpr double slack = 1.03;
  const double best = hidden_s(p), seen = played.counters.makespan_s;
  runner.note_par("seconds", seen, best, played);
  if (seen <= best * slack) return;
  Failure failure{.message = text("the results are right, but the ring takes ", seconds_text(seen),
                                  " where ", seconds_text(best),
                                  " are enough: ranks wait for blocks that could have travelled "
                                  "while they computed"),
                  .expected = text("at most ", seconds_text(best * slack)),
                  .seen = seconds_text(seen)};
  failure.verdict = Verdict::efficiency;
  runner.fail(played, because({"transfers_exposed",
                               "the next block's receive or this one's send is posted after the "
                               "computation, or is waited for before it; a message moves only when "
                               "both sides have posted it"},
                              failure));
}

void check_memory(CaseRunner& runner, const Played& played, const Problem& p,
                  const MomentService& moments, const AttentionService&) {
  for (int rank = 0; rank < p.ranks(); ++rank) {
    // Told late, the first moment would leave something out, and the second one told early.
    const std::vector<double>& told_s = moments.of(rank).told_s;
    const double over_s = played.counters.ranks[at(rank)].clock_s;
    if (told_s.front() > 0 || told_s.back() < over_s) {
      throw MalformedMessage("a member told of its call out of turn");
    }
    std::int64_t block = 0;
    for (int owner = 0; owner < p.ranks(); ++owner) block = std::max(block, block_bytes(p, owner));
    // Outputs and queries are half as large as a block. The result has one, and so has a block's.
    // The case is there in two forms: as it came, and taken apart. So is what the judge is asked.
    constexpr std::int64_t small_ones = 64 << 10;
    check_member_peak(
        runner, played, rank, moments.of(rank),
        {.tensor_bytes = 3 * block + small_ones,
         .adapter_bytes = block / 2 + 3 * block / p.filler + (p.timed ? 3 * block : 0) + small_ones,
         .of_what = "two blocks of keys and values, and the outputs of two",
         .cause = {"blocks_kept",
                   "a third block lives on: the keys and values of other ranks are kept, or the "
                   "own ones after they were sent"}});
  }
}

}  // namespace lockstep::grader::ring_attention
