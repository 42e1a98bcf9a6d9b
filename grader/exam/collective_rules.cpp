#include "grader/exam/collective_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "engine/base/random.hpp"
#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_values.hpp"
#include "grader/play/collective_case.hpp"

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

// What is wrong with the whole of a reduction says more than one element of it.
std::optional<Cause> likely_cause_of_sum(const Sums& sums, const Holding& held,
                                         std::span<const double> seen, std::size_t at) {
  const auto n = static_cast<double>(sums.of.ranks);
  const auto first = static_cast<std::size_t>(held.sums_from);
  const auto everywhere = [&](auto holds) {
    for (std::size_t e = 0; e < seen.size(); ++e) {
      if (!holds(e)) return false;
    }
    return true;
  };
  if (sums.of.op == ReduceOp::sum && sums.of.ranks > 1 && everywhere([&](std::size_t e) {
        const double rounding = sums.of.dtype == DType::int64 ? n : 0.0;
        return std::fabs(seen[e] * n - held.after[e]) <=
               std::max(2 * n * sums.tolerance[first + e], rounding);
      })) {
    return Cause{"averaged", text("everything is ", n,
                                  " times too small: a reduction sums, it does not average")};
  }
  if (sums.of.op != ReduceOp::sum) {
    const bool summed = everywhere([&](std::size_t e) {
      double sum = 0;
      for (const auto& input : sums.inputs) sum += input[first + e];
      return std::fabs(seen[e] - sum) <= 1e-3 * std::max(1.0, std::fabs(sum));
    });
    return summed ? Cause{"operator", "that is the sum: the operator was ignored"}
                  : Cause{"operator", "another operator was used than the one that was given"};
  }
  // Of one block of a sum the end says nothing: the remainder is that of all blocks together.
  const bool all_blocks = seen.size() == sums.inputs.front().size();
  const std::size_t tail = seen.size() % static_cast<std::size_t>(sums.of.ranks);
  const bool whole = tail == seen.size() && !std::ranges::equal(seen, held.before);
  if (all_blocks && tail != 0 && !whole && at >= seen.size() - tail) {
    const auto last = tail == 1 ? std::string("only the last element is wrong")
                                : text("only the last ", tail, " elements are wrong");
    return Cause{"tail_lost", text(last, ", the remainder of ", seen.size(), " / ", n,
                                   ": some blocks must be one element longer")};
  }
  const std::string story = provenance(sums, first + at, seen[at]);
  if (story.find(',') != std::string::npos) return Cause{"provenance", story};
  if (!story.empty())
    return Cause{story.ends_with("missing") ? "rank_missing" : "rank_twice", story};
  for (int empty = 1; empty < sums.of.ranks; ++empty) {
    if (provenance(sums, first + at, seen[at] + empty).empty()) continue;
    return Cause{"adds_empty_room",
                 "room that nothing was written to was added up: what empty_like makes holds -1 "
                 "here, and anything elsewhere"};
  }
  return std::nullopt;
}

// What the buffer as a whole says, where its first wrong element does not.
std::optional<Cause> likely_cause_of_all(const std::vector<Scene>& calls, std::size_t call,
                                         std::size_t rank, std::size_t buffer,
                                         std::span<const double> seen) {
  const Holding& held = calls[call].ranks[rank][buffer];
  WrongValues values{.seen = seen, .expected = held.after, .tolerance = held.tolerance};
  values.rank = static_cast<int>(rank);
  values.ranks = static_cast<int>(calls[call].ranks.size());
  if (call > 0) values.previous = calls[call - 1].ranks[rank][buffer].after;
  if (const auto& sums = calls[call].sums) {  // by reference: the values are views of the inputs
    for (const auto& input : sums->inputs) {
      values.inputs.push_back(
          std::span(input).subspan(static_cast<std::size_t>(held.sums_from), held.after.size()));
    }
  }
  for (const auto classify : {stale, blocks_moved, transposed, one_rank_wrong, rounding_only}) {
    if (auto cause = classify(values)) return cause;
  }
  return std::nullopt;
}

Cause likely_cause(const std::vector<Scene>& calls, std::size_t call, std::size_t rank,
                   std::size_t buffer, std::span<const double> seen, std::size_t at) {
  const Holding& held = calls[call].ranks[rank][buffer];
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
  if (std::ranges::equal(seen, held.before) && seen.size() >= calls[call].ranks.size()) {
    return {"unchanged", "that is what the rank held before the call: nothing was added to it"};
  }
  if (calls[call].sums) {
    const auto guess = likely_cause_of_sum(*calls[call].sums, held, seen, at);
    if (guess) return *guess;
  }
  const std::string origin = origin_of(calls, call, seen[at]);
  if (auto cause = likely_cause_of_all(calls, call, rank, buffer, seen)) {
    if (!origin.empty()) cause->sentence += text(" (that is ", origin, ")");
    return *std::move(cause);
  }
  if (at < held.before.size() && seen[at] == held.before[at]) {
    return {"unchanged", "that is what the rank held before the call"};
  }
  if (!origin.empty()) return {"wrong_place", text("that is ", origin)};
  return {"value", "no rank brought this value"};
}

std::string place_of(int rank, std::size_t call, const Holding& held) {
  return text("rank ", rank, call ? ", second call" : "", ", ", held.name);
}

[[noreturn]] void fail_of_bits(Bench& bench, const Played& played, int rank, std::size_t call,
                               const Holding& held) {
  Failure failure;
  failure.cause = "bits_differ";
  failure.message = text("ranks 0 and ", rank,
                         " hold results that differ in their last bits; likely cause: each rank "
                         "adds in an order of its own. All must add in the same order, or one must "
                         "finish an element and the others copy it");
  failure.expected = "the same bits on every rank";
  failure.seen = "different bits";
  failure.where = place_of(rank, call, held);
  bench.fail(played, failure);
}

void compare(Bench& bench, const Played& played, const CollectiveProblem& p,
             const std::vector<Scene>& calls) {
  std::map<std::pair<std::size_t, std::string>, std::span<const std::byte>> of_rank_0;
  for (int rank = 0; rank < p.size(); ++rank) {
    const auto member = static_cast<std::size_t>(p.members.ranks[static_cast<std::size_t>(rank)]);
    ByteReader result(played.results[member]);
    for (std::size_t call = 0; call < calls.size(); ++call) {
      const auto& buffers = calls[call].ranks[static_cast<std::size_t>(rank)];
      for (std::size_t buffer = 0; buffer < buffers.size(); ++buffer) {
        const Holding& held = buffers[buffer];
        const auto raw = result.get_bytes();
        const auto seen = as_doubles(p.dtype, raw);
        if (held.after.empty() && held.count > 0) continue;
        const std::vector<double> exact(held.after.size(), 0.0);
        const auto at =
            first_difference(seen, held.after, held.tolerance.empty() ? exact : held.tolerance);
        if (!at) {
          if (held.bits == Bits::any) continue;
          const auto first = of_rank_0.try_emplace({call, held.name}, raw).first->second;
          if (std::ranges::equal(raw, first)) continue;
          fail_of_bits(bench, played, rank, call, held);
        }
        const Cause guess =
            likely_cause(calls, call, static_cast<std::size_t>(rank), buffer, seen, *at);
        Failure failure;
        failure.cause = guess.name;
        failure.seen = *at < seen.size() ? number(seen[*at]) : "nothing";
        failure.expected = *at < held.after.size() ? number(held.after[*at]) : "nothing";
        failure.where = text(place_of(rank, call, held), ", element ", *at);
        failure.message =
            text("element ", *at, " of ", held.name, " on rank ", rank, " is ", failure.seen,
                 " where ", failure.expected, " was expected; likely cause: ", guess.sentence);
        bench.fail(played, failure);
      }
    }
  }
}

// The groups of one rank: its node, and those that have its number in other nodes.
void choose_groups(CollectiveCall& asked, const Nodes& nodes, int rank) {
  const int node = rank / nodes.ranks_each, place = rank % nodes.ranks_each;
  const int number = nodes.turned && node % 2 == 1 ? nodes.ranks_each - 1 - place : place;
  asked.in_node = {.color = node, .key = number, .split = 1};
  asked.across = {.color = number, .key = node, .split = 1};
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
  if (!bench.plays_next()) {
    bench.pass_over();
    return std::nullopt;
  }
  std::vector<Scene> calls;
  for (int call = 0; call < p.calls; ++call) calls.push_back(oracle(p, salt, call));
  CaseSetup setup;
  setup.description = text(p.members.description(), ", ", what);
  setup.schedule_seed = p.schedule_seed;
  setup.limits.bytes_max = 1 << 16;
  if (p.nodes) setup.network = p.nodes->network;
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
      if (p.nodes) choose_groups(asked, *p.nodes, rank);
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
