// The exam of ring_all_reduce: values first (provenance on integers, then floats, operators,
// groups, sizes), then what makes it a ring: bytes of every rank, chain of messages, neighbours.
#include "grader/players/ring_all_reduce.hpp"

#include <algorithm>
#include <cmath>

#include "grader/exams/exams.hpp"
#include "grader/exams/members.hpp"
#include "grader/exams/reduction_rules.hpp"
#include "grader/exams/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

struct Problem {
  Members members;
  std::int64_t count = 0;
  DType dtype = DType::int64;
  ReduceOp op = ReduceOp::sum;
  int calls = 2;
  std::uint64_t schedule_seed = 0;

  int size() const { return members.size(); }
  Reduction reduction() const { return {dtype, op, size(), count}; }
  std::string description() const {
    return text(members.description(), ", ", count, count == 1 ? " element of " : " elements of ",
                name_of(dtype), ", ", name_of(op));
  }
};

struct Guess {
  std::string cause, sentence;
};

Guess likely_cause(const Problem& p, const Sums& sums, int rank, std::span<const double> seen,
                   std::size_t at) {
  const auto count = static_cast<std::size_t>(p.count);
  const auto n = static_cast<std::size_t>(p.size());
  const auto everywhere = [&](auto holds) {
    for (std::size_t e = 0; e < count; ++e) {
      if (!holds(e)) return false;
    }
    return true;
  };
  const auto& own = sums.inputs[static_cast<std::size_t>(rank)];
  if (seen.size() != count) return {"length", "the result has another length than the input"};
  if (std::isnan(seen[at]) || (p.dtype == DType::int64 && seen[at] == -1)) {
    return {"unwritten", "it was read from memory that nothing was received into"};
  }
  if (everywhere([&](std::size_t e) { return seen[e] == own[e]; })) {
    return {"unchanged", "that is the rank's own input: nothing was added to it"};
  }
  if (everywhere([&](std::size_t e) {
        return std::fabs(seen[e] * static_cast<double>(n) - sums.expected[e]) <=
               std::max(2 * static_cast<double>(n) * sums.tolerance[e],
                        p.dtype == DType::int64 ? static_cast<double>(n) : 0.0);
      })) {
    return {"averaged",
            text("everything is ", n, " times too small: all-reduce sums, it does not average")};
  }
  if (p.op != ReduceOp::sum) {
    bool summed = true;
    for (std::size_t e = 0; e < count && summed; ++e) {
      double sum = 0;
      for (const auto& input : sums.inputs) sum += input[e];
      summed = std::fabs(seen[e] - sum) <= 1e-3 * std::max(1.0, std::fabs(sum));
    }
    if (summed) return {"always_sums", "that is the sum: the operator was ignored"};
  }
  const std::size_t tail = count % n;
  if (tail != 0 && at >= count - tail) {
    const auto last = tail == 1 ? std::string("only the last element is wrong")
                                : text("only the last ", tail, " elements are wrong");
    return {"tail_lost", text(last, ", the remainder of ", count, " / ", n,
                              ": some chunks must be one element longer")};
  }
  if (const std::string story = provenance(sums, at, seen[at]); !story.empty()) {
    return {"contributions", story};
  }
  return {"chunk_index", "a chunk was added to, or copied over, the wrong place"};
}

void compare(Bench& bench, const Played& played, const Problem& p, const std::vector<Sums>& calls) {
  std::vector<ByteReader> results;
  for (int member : p.members.ranks) {
    results.emplace_back(played.results[static_cast<std::size_t>(member)]);
  }
  for (int call = 0; call < p.calls; ++call) {
    const Sums& sums = calls[static_cast<std::size_t>(call)];
    std::span<const std::byte> first;
    for (int rank = 0; rank < p.size(); ++rank) {
      const auto raw = results[static_cast<std::size_t>(rank)].get_bytes();
      const auto seen = as_doubles(p.dtype, raw);
      const auto where = text("rank ", rank, call ? ", second call" : "");
      if (const auto at = first_difference(seen, sums.expected, sums.tolerance)) {
        const Guess guess = likely_cause(p, sums, rank, seen, *at);
        const std::string value = *at < seen.size() ? number(seen[*at]) : "nothing";
        const std::string wanted =
            *at < sums.expected.size() ? number(sums.expected[*at]) : "nothing";
        bench.fail(played,
                   {.verdict = sim::Verdict::wrong_answer,
                    .cause = guess.cause,
                    .message = text("element ", *at, " of rank ", rank, " is ", value, " where ",
                                    wanted, " was expected; likely cause: ", guess.sentence),
                    .expected = wanted,
                    .seen = value,
                    .where = text(where, ", element ", *at),
                    .counters = {},
                    .case_number = 0,
                    .output = {}});
      }
      if (rank == 0) first = raw;
      if (!std::equal(raw.begin(), raw.end(), first.begin(), first.end())) {
        bench.fail(played,
                   {.verdict = sim::Verdict::wrong_answer,
                    .cause = "bits_differ",
                    .message = text("ranks 0 and ", rank,
                                    " hold sums that differ in their "
                                    "last bits; likely cause: each rank added in its own "
                                    "order. One rank must finish a chunk, the others copy it"),
                    .expected = "the same bits on every rank",
                    .seen = "different bits",
                    .where = where,
                    .counters = {},
                    .case_number = 0,
                    .output = {}});
      }
    }
  }
}

std::optional<Played> play(Bench& bench, const Problem& p) {
  const std::uint64_t salt = bench.draw();
  std::vector<Sums> calls;
  for (int call = 0; call < p.calls; ++call) {
    calls.push_back(draw_sums(p.reduction(), salt, call));
  }
  CaseSetup setup;
  setup.description = p.description();
  setup.schedule_seed = p.schedule_seed;
  setup.inputs.resize(static_cast<std::size_t>(p.members.world));
  for (int rank = 0; rank < p.members.world; ++rank) {
    AllReduceCase one;
    one.dtype = p.dtype;
    one.op = p.op;
    one.group = p.members.choice_of(rank);
    if (p.members.contain(rank)) {
      const auto place = static_cast<std::size_t>(p.members.group_rank(rank));
      for (const Sums& sums : calls) {
        const auto& values = sums.inputs[place];
        one.calls.push_back(to_bytes(p.dtype, values));
      }
    }
    setup.inputs[static_cast<std::size_t>(rank)] = encode(one);
  }
  // The hard cap: four times what everyone-to-everyone would send.
  const std::int64_t naive =
      p.calls * p.size() * (p.size() - 1) * p.count * static_cast<std::int64_t>(bytes_of(p.dtype));
  setup.limits.bytes_max = 4 * naive + 4096;
  auto played = bench.play(setup);
  if (played) compare(bench, *played, p, calls);
  return played;
}

void check_traffic(Bench& bench, const Played& played, const Problem& p) {
  const auto size = static_cast<std::int64_t>(bytes_of(p.dtype));
  const std::int64_t n = p.size(), d = p.count;
  const std::int64_t most = 2 * d - 2 * (d / n), least = 2 * d - 2 * ((d + n - 1) / n);
  Failure failure;
  check_messages_only(bench, played, "messages to a neighbour on the ring");
  failure.verdict = sim::Verdict::efficiency;
  for (int rank = 0; rank < p.size(); ++rank) {
    const std::int64_t sent =
        played.counters.ranks[static_cast<std::size_t>(rank)].bytes_sent / size;
    failure.counters = {{"elements_sent", static_cast<double>(sent)},
                        {"elements_sent_max", static_cast<double>(most)},
                        {"depth", played.counters.depth},
                        {"depth_max", 2.0 * static_cast<double>(n - 1)}};
    if (sent >= least && sent <= most) continue;
    failure.seen = text(sent, " elements");
    failure.expected =
        least == most ? text(most, " elements") : text(least, " to ", most, " elements");
    failure.where = text("rank ", rank);
    if (sent < least) {
      failure.verdict = sim::Verdict::wrong_answer;
      failure.cause = "too_few_bytes";
      failure.message = text("rank ", rank, " sent only ", sent, " elements to other ranks where ",
                             "every rank of a ring sends at least ", least,
                             "; likely cause: some ranks do the work of others");
    } else {
      failure.cause = sent >= (n - 1) * d ? "whole_buffer" : "too_many_bytes";
      failure.message =
          text("the sum is right, but rank ", rank, " sent ", sent, " elements where a ring sends ",
               failure.expected, " (2(N-1)/N of ", d, "); likely cause: ",
               sent >= (n - 1) * d ? "whole buffers travel where chunks of 1/N should"
                                   : "some chunks travel more often than once each way round");
    }
    bench.fail(played, failure);
  }
  if (played.counters.depth > 2 * (n - 1)) {
    failure.cause = "too_many_steps";
    failure.seen = text(played.counters.depth, " messages in a chain");
    failure.expected = text("at most ", 2 * (n - 1));
    failure.where = {};
    failure.message = text("the sum and the bytes are right, but ", played.counters.depth,
                           " messages wait for each other in a chain where 2(N-1) = ", 2 * (n - 1),
                           " steps are enough; likely cause: ranks take turns instead of all "
                           "sending in every step");
    bench.fail(played, failure);
  }
  for (const auto& message : played.counters.messages) {
    const auto step = (message.dst - message.src + p.size()) % p.size();
    if (step == 1 || step == p.size() - 1) continue;
    failure.cause = "not_neighbours";
    failure.seen = text("rank ", message.src, " sent to rank ", message.dst);
    failure.expected = "messages to a neighbour on the ring";
    failure.where = text("rank ", message.src);
    failure.message =
        text("the sum is right, but rank ", message.src, " sent to rank ", message.dst,
             ", which is no neighbour: that is another algorithm than a ring");
    bench.fail(played, failure);
  }
}

}  // namespace

Exam ring_all_reduce_exam() {
  return {
      {"every rank's value arrives exactly once, for any number of ranks and elements",
       [](Bench& bench) {
         for (int n : {2, 3, 4, 1, 5, 7, 8}) {
           for (std::int64_t d :
                {std::int64_t{n} * 3, std::int64_t{n} + 1, std::int64_t{n}, std::int64_t{n} - 1,
                 std::int64_t{1}, std::int64_t{0}, std::int64_t{31}}) {
             play(bench, {.members = whole_world(n), .count = d, .schedule_seed = bench.draw()});
           }
         }
       }},
      {"float32: the sum to rounding, the same bits on every rank",
       [](Bench& bench) {
         for (int n : {2, 3, 5, 8}) {
           play(bench, {.members = whole_world(n), .count = 101, .dtype = DType::float32});
         }
       }},
      {"product, min and max as well as sum",
       [](Bench& bench) {
         for (ReduceOp op : {ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
           for (DType dtype : {DType::int64, DType::float64}) {
             play(bench, {.members = whole_world(3), .count = 11, .dtype = dtype, .op = op});
           }
         }
       }},
      {"a group whose ranks are not those of the world",
       [](Bench& bench) {
         play(bench, {.members = {8, {6, 1, 3, 7, 4}}, .count = 23});
         play(bench, {.members = {4, {3, 1}}, .count = 5});
       }},
      {"2(N-1)/N of the data per rank, 2(N-1) steps, neighbours only",
       [](Bench& bench) {
         for (int n : {2, 3, 4, 5, 7, 8}) {
           const auto any = static_cast<std::int64_t>(20 + bench.draw() % 400);
           for (std::int64_t d : {std::int64_t{n} * 10, std::int64_t{n} * 10 + 3, any}) {
             const Problem p{.members = whole_world(n), .count = d, .calls = 1};
             if (const auto played = play(bench, p)) check_traffic(bench, *played, p);
           }
         }
       }},
      {"a large buffer: 1,048,576 elements on 3 ranks, which do not divide them",
       [](Bench& bench) {
         const Problem p{
             .members = whole_world(3), .count = 1 << 20, .dtype = DType::float32, .calls = 1};
         if (const auto played = play(bench, p)) check_traffic(bench, *played, p);
       }},
  };
}

}  // namespace lockstep::grader
