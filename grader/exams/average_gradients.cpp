// The exam of average_gradients: the mean over the group, the same bits everywhere, gradients that
// are not there stay away, and the traffic of one all-reduce.
#include "grader/players/average_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/random.hpp"
#include "grader/exams/exams.hpp"
#include "grader/exams/members.hpp"
#include "grader/exams/traffic.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

struct Problem {
  Members members;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> has_grad;
  std::uint64_t schedule_seed = 0;

  int size() const { return members.size(); }
  std::int64_t gradient_bytes() const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) count += has_grad[i] ? sizes[i] : 0;
    return count * static_cast<std::int64_t>(bytes_of(dtype));
  }
  std::string description() const {
    return text(members.description(), ", ", sizes.size(), " parameters of ", name_of(dtype));
  }
};

// Element e of parameter i on group rank r: never zero, and of another size on every rank.
double gradient(std::uint64_t salt, int rank, std::size_t i, std::size_t e) {
  const std::uint64_t bits = random_bits(
      salt, (static_cast<std::uint64_t>(e) * 64 + i) * 16 + static_cast<std::uint64_t>(rank));
  return (static_cast<double>(bits >> 40) * 0x1.0p-24 + 0.5) * (1 + rank) * (bits & 1 ? 1.0 : -1.0);
}

std::vector<double> gradients_of(const Problem& p, std::uint64_t salt, int rank, std::size_t i) {
  std::vector<double> values(static_cast<std::size_t>(p.sizes[i]));
  for (std::size_t e = 0; e < values.size(); ++e) {
    values[e] = gradient(salt, rank, i, e);
    if (p.dtype == DType::float32) values[e] = static_cast<double>(static_cast<float>(values[e]));
  }
  return values;
}

struct Guess {
  std::string cause, sentence;
};

Guess likely_cause(const Problem& p, std::span<const double> seen, std::span<const double> mean,
                   std::span<const double> own) {
  const double n = p.size();
  if (seen.size() != mean.size()) return {"length", "the gradient changed its size"};
  if (!std::all_of(seen.begin(), seen.end(), [](double v) { return std::isfinite(v); })) {
    return {"no_number",
            "that is no number: divided by zero, or read from memory that nothing was written to"};
  }
  const auto scaled = [&](double factor) {
    for (std::size_t e = 0; e < seen.size(); ++e) {
      if (!(std::fabs(seen[e] - factor * mean[e]) <= 1e-4 * std::fabs(factor * mean[e]) + 1e-6)) {
        return false;
      }
    }
    return true;
  };
  if (p.size() > 1 && std::all_of(seen.begin(), seen.end(), [](double v) { return v == 0; })) {
    return {"zero", "everything is 0: 1 / group.size() divides whole numbers; write 1.0 /"};
  }
  if (scaled(n))
    return {"summed_not_averaged",
            text("it is ", p.size(), " times too large: summed, not averaged")};
  if (scaled(1 / n))
    return {"divided_twice", text("it is ", p.size(), " times too small: divided twice")};
  if (std::equal(seen.begin(), seen.end(), own.begin(), own.end())) {
    return {"not_averaged", "that is this rank's own gradient: this parameter was left out"};
  }
  bool own_scaled = true;
  for (std::size_t e = 0; e < seen.size() && own_scaled; ++e) {
    own_scaled = std::fabs(seen[e] * n - own[e]) <= 1e-4 * std::fabs(own[e]);
  }
  if (own_scaled)
    return {"divided_only", "that is this rank's own gradient divided by N: nothing was added"};
  for (double factor : {1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64}) {
    if (scaled(factor * n) || scaled(factor)) {
      return {"wrong_divisor", "the divisor is not the number of ranks in the group"};
    }
  }
  return {"other_values",
          "other tensors were added, or the ranks went through the parameters in different orders"};
}

[[noreturn]] void fail(Bench& bench, const Played& played, std::string cause, std::string message,
                       std::string expected, std::string seen, std::string where) {
  bench.fail(played, {.verdict = sim::Verdict::wrong_answer,
                      .cause = std::move(cause),
                      .message = std::move(message),
                      .expected = std::move(expected),
                      .seen = std::move(seen),
                      .where = std::move(where),
                      .counters = {},
                      .case_number = 0,
                      .output = {}});
}

void compare(Bench& bench, const Played& played, const Problem& p, std::uint64_t salt) {
  std::vector<ByteReader> results;
  for (int member : p.members.ranks)
    results.emplace_back(played.results[static_cast<std::size_t>(member)]);
  for (std::size_t i = 0; i < p.sizes.size(); ++i) {
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < p.size(); ++rank) inputs.push_back(gradients_of(p, salt, rank, i));
    const auto count = static_cast<std::size_t>(p.sizes[i]);
    std::vector<double> mean(count), tolerance(count);
    for (std::size_t e = 0; e < count; ++e) {
      double magnitude = 0;
      for (const auto& input : inputs) {
        mean[e] += input[e] / p.size();
        magnitude += std::fabs(input[e]) / p.size();
      }
      // 1/N is rounded once, each product once, and N-1 additions in any order: (N+2)·eps·Σ|g|/N.
      tolerance[e] = (p.size() + 2) * epsilon_of(p.dtype) * magnitude;
    }
    std::span<const std::byte> first;
    for (int rank = 0; rank < p.size(); ++rank) {
      ByteReader& result = results[static_cast<std::size_t>(rank)];
      const bool defined = result.get<std::uint8_t>() != 0;
      const auto raw = result.get_bytes();
      const auto value = as_doubles(p.dtype, result.get_bytes());
      const auto where = text("rank ", rank, ", parameter ", i);
      if (defined != (p.has_grad[i] != 0)) {
        fail(bench, played, defined ? "gradient_invented" : "gradient_lost",
             text("parameter ", i,
                  defined ? " had no gradient on any rank and has one now on rank "
                          : " lost its gradient on rank ",
                  rank,
                  "; a parameter without gradient must stay without, or weight decay and momentum "
                  "will move it"),
             p.has_grad[i] ? "a gradient" : "no gradient", defined ? "a gradient" : "no gradient",
             where);
      }
      if (!std::all_of(value.begin(), value.end(), [](double v) { return v == 1.0; })) {
        fail(bench, played, "value_changed",
             text("the value of parameter ", i, " changed on rank ", rank,
                  "; only gradients are averaged here"),
             "the value untouched", "another value", where);
      }
      if (!defined) continue;
      const auto seen = as_doubles(p.dtype, raw);
      if (const auto at = first_difference(seen, mean, tolerance)) {
        const auto guess = likely_cause(p, seen, mean, inputs[static_cast<std::size_t>(rank)]);
        const auto shown = *at < seen.size() ? number(seen[*at]) : "nothing";
        const auto wanted = *at < mean.size() ? number(mean[*at]) : "nothing";
        fail(bench, played, guess.cause,
             text("the gradient of parameter ", i, " is ", shown, " at element ", *at, " of rank ",
                  rank, " where the mean over ", p.size(), " ranks is ", wanted,
                  "; likely cause: ", guess.sentence),
             wanted, shown, text(where, ", element ", *at));
      }
      if (rank == 0) first = raw;
      if (!std::equal(raw.begin(), raw.end(), first.begin(), first.end())) {
        fail(
            bench, played, "bits_differ",
            text("parameter ", i, ": ranks 0 and ", rank,
                 " hold means that differ in their last bits; "
                 "likely cause: each rank summed in its own order. Replicas drift apart from here"),
            "the same bits on every rank", "different bits", where);
      }
    }
  }
}

std::optional<Played> play(Bench& bench, const Problem& p) {
  const std::uint64_t salt = bench.draw();
  CaseSetup setup;
  setup.description = p.description();
  setup.schedule_seed = p.schedule_seed;
  setup.inputs.resize(static_cast<std::size_t>(p.members.world));
  for (int rank = 0; rank < p.members.world; ++rank) {
    GradientCase one;
    one.dtype = p.dtype;
    one.allocation_seed = random_bits(salt, 1'000'000 + static_cast<std::uint64_t>(rank)) >> 32;
    one.sizes = p.sizes;
    one.has_grad = p.has_grad;
    one.group = p.members.choice_of(rank);
    const int group_rank = p.members.group_rank(rank);
    for (std::size_t i = 0; i < p.sizes.size(); ++i) {
      const bool filled = p.members.contain(rank) && p.has_grad[i];
      one.grads.push_back(filled ? to_bytes(p.dtype, gradients_of(p, salt, group_rank, i))
                                 : Bytes{});
    }
    setup.inputs[static_cast<std::size_t>(rank)] = encode(one);
  }
  auto played = bench.play(setup);
  if (played) compare(bench, *played, p, salt);
  return played;
}

Problem usual(int ranks, std::uint64_t schedule_seed) {
  return {.members = whole_world(ranks),
          .sizes = {35, 7, 1, 64, 64, 13},
          .has_grad = {1, 1, 1, 1, 1, 1},
          .schedule_seed = schedule_seed};
}

void check_traffic(Bench& bench, const Played& played, const Problem& p) {
  const double allowed = ring_bytes(p.gradient_bytes(), p.size());
  const double sent = busiest_rank_bytes(played.counters);
  // A tenth for a count or a flag that travels along; a second copy of the gradients does not fit.
  if (sent <= allowed * 1.1) return;
  Failure failure;
  failure.verdict = sim::Verdict::efficiency;
  failure.cause = "too_many_bytes";
  failure.counters = {{"bytes_sent", sent}, {"bytes_one_all_reduce", allowed}};
  failure.expected = text(number(allowed), " bytes per rank");
  failure.seen = text(number(sent), " bytes per rank");
  failure.message = text("the mean is right, but a rank sends ", number(sent),
                         " bytes where one all-reduce of the ", p.gradient_bytes(),
                         " bytes of gradients costs 2(N-1)/N of them = ", number(allowed),
                         "; likely cause: whole gradients are gathered, or reduced more than once");
  bench.fail(played, std::move(failure));
}

}  // namespace

Exam average_gradients_exam() {
  return {
      {"the mean over 2, 3, 4, 1, 5, 7 and 8 ranks, the same bits on all",
       [](Bench& bench) {
         for (int n : {2, 3, 4, 1, 5, 7, 8}) play(bench, usual(n, bench.draw()));
       }},
      {"float64 too",
       [](Bench& bench) {
         Problem p = usual(3, bench.draw());
         p.dtype = DType::float64;
         play(bench, p);
       }},
      {"a parameter without gradient stays without; an empty one does no harm",
       [](Bench& bench) {
         Problem p = usual(4, bench.draw());
         p.sizes = {5, 3, 0, 8};
         p.has_grad = {1, 0, 1, 1};
         play(bench, p);
         p.has_grad = {0, 0, 0, 0};
         play(bench, p);
       }},
      {"a subgroup divides by its own size",
       [](Bench& bench) {
         Problem p = usual(8, bench.draw());
         p.members.ranks = {6, 1, 4};
         play(bench, p);
       }},
      {"no more bytes than one all-reduce of the gradients",
       [](Bench& bench) {
         for (int n : {2, 4, 8}) {
           Problem p = usual(n, bench.draw());
           p.sizes = {400, 130, 50};
           p.has_grad = {1, 1, 1};
           if (const auto played = play(bench, p)) check_traffic(bench, *played, p);
         }
       }},
  };
}

}  // namespace lockstep::grader
