#include "grader/exams/collective_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/random.hpp"
#include "grader/judge/compare.hpp"
#include "grader/players/collective_case.hpp"

namespace lockstep::grader {
namespace {

// Where a value comes from, when some rank brought it: "element 3 of rank 2's data".
std::string origin_of(const std::vector<Scene>& calls, std::size_t call, double value) {
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t rank = 0; rank < calls[c].ranks.size(); ++rank) {
      for (const Holding& held : calls[c].ranks[rank]) {
        const auto at = std::find(held.before.begin(), held.before.end(), value);
        if (at == held.before.end()) continue;
        return text("element ", at - held.before.begin(), " of rank ", rank, "'s ", held.name,
                    c == call ? "" : text(", as it was in call ", c + 1));
      }
    }
  }
  return {};
}

struct Guess {
  std::string cause, sentence;
};

Guess likely_cause(const std::vector<Scene>& calls, std::size_t call, const Holding& held,
                   std::span<const double> seen, std::size_t at) {
  if (seen.size() != static_cast<std::size_t>(held.count)) {
    return {"length", "the buffer has another length than before"};
  }
  if (!held.before.empty() && held.before == held.after) {
    return {"scribbled", text("the contract says that this rank's ", held.name,
                              " does not change, and something was written to it")};
  }
  if (std::isnan(seen[at]) || seen[at] == -1) {
    return {"unwritten", "nothing was ever received or copied into that place"};
  }
  if (calls[call].sums) {
    if (const std::string story =
            provenance(*calls[call].sums, static_cast<std::size_t>(held.sums_from) + at, seen[at]);
        !story.empty()) {
      return {"provenance", story};
    }
    if (calls[call].sums->of.op != ReduceOp::sum) {
      return {"operator", "another operator was used than the one that was given"};
    }
  }
  if (at < held.before.size() && seen[at] == held.before[at]) {
    return {"unchanged", "that is what the rank held before the call"};
  }
  if (const std::string origin = origin_of(calls, call, seen[at]); !origin.empty()) {
    return {"wrong_place", text("that is ", origin)};
  }
  return {"value", "no rank brought this value"};
}

void compare(Bench& bench, const Played& played, const CollectiveProblem& p,
             const std::vector<Scene>& calls) {
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto member = static_cast<std::size_t>(p.members.ranks[static_cast<std::size_t>(rank)]);
    ByteReader result(played.results[member]);
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (const Holding& held : calls[call].ranks[static_cast<std::size_t>(rank)]) {
        const auto seen = as_doubles(p.dtype, result.get_bytes());
        if (held.after.empty() && held.count > 0) continue;
        const std::vector<double> exact(held.after.size(), 0.0);
        const auto at =
            first_difference(seen, held.after, held.tolerance.empty() ? exact : held.tolerance);
        if (!at) continue;
        const Guess guess = likely_cause(calls, call, held, seen, *at);
        Failure failure;
        failure.cause = guess.cause;
        failure.seen = *at < seen.size() ? number(seen[*at]) : "nothing";
        failure.expected = *at < held.after.size() ? number(held.after[*at]) : "nothing";
        failure.where =
            text("rank ", rank, call ? ", second call" : "", ", ", held.name, ", element ", *at);
        failure.message =
            text("element ", *at, " of ", held.name, " on rank ", rank, " is ", failure.seen,
                 " where ", failure.expected, " was expected; likely cause: ", guess.sentence);
        bench.fail(played, failure);
      }
    }
  }
}

}  // namespace

std::vector<double> distinct(const CollectiveProblem& p, std::uint64_t salt, int call, int rank,
                             std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t e = 0; e < count; ++e) {
    const std::uint64_t bits = random_bits(
        salt, (static_cast<std::uint64_t>(e) * 16 + static_cast<std::uint64_t>(rank)) * 4 +
                  static_cast<std::uint64_t>(call));
    // 24 bits fit a float32 without rounding.
    values.push_back(p.dtype == DType::int64 ? static_cast<double>(1 + (bits >> 20))
                                             : static_cast<double>(1 + (bits >> 40)) * 0x1.0p-20);
  }
  return values;
}

std::optional<Played> play_collective(Bench& bench, const CollectiveProblem& p,
                                      const std::string& what, const Oracle& oracle) {
  const std::uint64_t salt = p.salt ? *p.salt : bench.draw();
  std::vector<Scene> calls;
  for (int call = 0; call < p.calls; ++call) calls.push_back(oracle(p, salt, call));
  CaseSetup setup;
  setup.description = text(p.members.description(), ", ", what);
  setup.schedule_seed = p.schedule_seed;
  setup.limits.bytes_max = 1 << 16;
  for (int rank = 0; rank < p.members.world; ++rank) {
    CollectiveCase one;
    one.group = p.members.choice_of(rank);
    one.dtype = p.dtype;
    one.op = p.op;
    for (std::size_t call = 0; p.members.contain(rank) && call < calls.size(); ++call) {
      const auto place = static_cast<std::size_t>(p.members.group_rank(rank));
      CollectiveCall& asked = one.calls.emplace_back();
      asked.root = p.root;
      for (const Holding& held : calls[call].ranks[place]) {
        asked.buffers.push_back({held.count, to_bytes(p.dtype, held.before)});
        // The hard cap: some times what everyone-to-everyone would send.
        setup.limits.bytes_max +=
            8 * p.size() * held.count * static_cast<std::int64_t>(bytes_of(p.dtype));
      }
      if (p.sends.empty()) continue;
      asked.to_each = p.sends[place];
      for (const auto& row : p.sends) asked.from_each.push_back(row[place]);
    }
    setup.inputs.push_back(encode(one));
  }
  auto played = bench.play(setup);
  if (played) compare(bench, *played, p, calls);
  return played;
}

int tree_depth(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

}  // namespace lockstep::grader
