#include "grader/exam/collective/causes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/base/units.hpp"
#include "engine/comm/worlds/sim/sim_group.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// The place of a value in some rank's input.
struct Origin {
  std::size_t call = 0;
  int rank = 0;
  std::string text;  // "element 3 of rank 2's data"
};
std::optional<Origin> found_origin(const std::vector<Scene>& calls, std::size_t call,
                                   double value) {
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t rank = 0; rank < calls[c].ranks.size(); ++rank) {
      for (const Holding& held : calls[c].ranks[rank]) {
        const auto at = std::find(held.before.begin(), held.before.end(), value);
        if (at == held.before.end()) continue;
        return Origin{c, static_cast<int>(rank),
                      text("element ", at - held.before.begin(), " of rank ", rank, "'s ",
                           held.name, c == call ? "" : text(", from call ", c + 1))};
      }
    }
  }
  return std::nullopt;
}
std::string origin_of(const std::vector<Scene>& calls, std::size_t call, double value) {
  const auto origin = found_origin(calls, call, value);
  return origin ? origin->text : std::string();
}

// Data that was passed on between neighbours: it comes from the other side, or is one rank's own
// again and again. Told only if it is so of every wrong element.
std::optional<Cause> cause_by_neighbours(const std::vector<Scene>& calls, std::size_t call,
                                         int rank, const Holding& held,
                                         std::span<const double> seen) {
  const int n = static_cast<int>(calls[call].ranks.size());
  bool mirrored = n > 2, again = n > 2;
  std::optional<int> sender;
  std::vector<int> right_ranks;  // of the elements that are right
  for (std::size_t e = 0; e < seen.size(); ++e) {
    const auto wanted = found_origin(calls, call, held.after[e]);
    const auto came = found_origin(calls, call, seen[e]);
    if (seen[e] == -1 && wanted) continue;  // nothing came there
    if (!wanted || !came || came->call != call) return std::nullopt;
    if (seen[e] == held.after[e]) {
      right_ranks.push_back(came->rank);
      continue;
    }
    mirrored &= came->rank != rank && (came->rank + wanted->rank - 2 * rank) % n == 0;
    again &= came->rank == sender.value_or(came->rank) && came->rank != rank;
    sender = came->rank;
  }
  if (!sender) return std::nullopt;
  if (again && std::ranges::find(right_ranks, *sender) != right_ranks.end()) {
    return Cause{"sent_again", text("what stands here is rank ", *sender,
                                    "'s own again: in each step, a rank "
                                    "passes on what it received in the step before")};
  }
  if (!mirrored) return std::nullopt;
  return Cause{"from_the_other_side",
               text("it is rank ", *sender,
                    "'s, from the other side: data that travels to the right, to "
                    "rank r + 1, comes from the left, from rank r - 1 and then from "
                    "those behind it")};
}

// The stretch of some rank's input that a buffer holds whole: "elements 4 to 7 of rank 2's all".
std::string stretch_of(const std::vector<Scene>& calls, std::size_t call,
                       std::span<const double> seen) {
  for (std::size_t rank = 0; rank < calls[call].ranks.size() && seen.size() > 1; ++rank) {
    for (const Holding& held : calls[call].ranks[rank]) {
      if (held.before.size() <= seen.size()) continue;
      const auto at = std::ranges::search(held.before, seen).begin();
      if (at == held.before.end()) continue;
      const auto first = at - held.before.begin();
      return text("elements ", first, " to ", first + std::ssize(seen) - 1, " of rank ", rank,
                  "'s ", held.name);
    }
  }
  return {};
}

// True if a value is that of memory for which a receive was posted, once or summed up to N times.
bool was_posted(DType dtype, double value, std::size_t ranks) {
  const Bytes element(bytes_of(dtype), std::byte{comm::posted_byte});
  const double posted = as_doubles(dtype, element).front();
  for (std::size_t times = 1; times <= ranks; ++times) {
    const double sum = static_cast<double>(times) * posted;
    if (std::fabs(value - sum) <= 1e-6 * std::fabs(sum)) return true;
  }
  return false;
}

// True if some rank brings a NaN, so that one in a result need not be fresh memory.
bool some_bring_nan(const std::vector<Scene>& calls) {
  const auto nan = [](double value) { return std::isnan(value); };
  for (const Scene& scene : calls) {
    for (const auto& rank : scene.ranks) {
      for (const Holding& held : rank) {
        if (std::ranges::any_of(held.before, nan)) return true;
      }
    }
  }
  return false;
}

// Explains a wrong result of an operator other than the sum.
Cause likely_cause_of_operator(const Sums& sums, std::size_t first, std::span<const double> seen) {
  // All elements are what `op` makes of every rank's value, without rank `missing`.
  const auto all_are = [&](ReduceOp op, std::size_t missing) {
    for (std::size_t e = 0; e < seen.size(); ++e) {
      std::optional<double> value;
      for (std::size_t rank = 0; rank < sums.inputs.size(); ++rank) {
        if (rank == missing) continue;
        const double own = sums.inputs[rank][first + e];
        if (value) reduce_into(*value, own, op);
        value = value.value_or(own);
      }
      if (!value || std::fabs(seen[e] - *value) > 1e-3 * std::max(1e-6, std::fabs(*value))) {
        return false;
      }
    }
    return true;
  };
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
    if (op == sums.of.op || !all_are(op, sums.inputs.size())) continue;
    return {"operator",
            op == ReduceOp::sum
                ? std::string("the value seen is the sum; the operator was ignored")
                : text("the value seen is the ", name_of(op), ", not the ", name_of(sums.of.op))};
  }
  for (std::size_t rank = 0; rank < sums.inputs.size() && sums.inputs.size() > 1; ++rank) {
    if (!all_are(sums.of.op, rank)) continue;
    return {"rank_missing", text("rank ", rank, "'s value is missing; the value seen is the ",
                                 name_of(sums.of.op), " of the other ranks' values")};
  }
  return {"operator",
          text("the value seen is not the ", name_of(sums.of.op), " of all ranks' values")};
}

// If an element is what one rank brought to it, and no sum.
std::string alone_here(const Sums& sums, std::size_t e, double seen) {
  for (std::size_t rank = 0; rank < sums.inputs.size() && sums.inputs.size() > 1; ++rank) {
    if (sums.inputs[rank][e] != seen) continue;
    return text("; rank ", rank,
                "'s own value stands here alone: nothing was added to it, or it replaced the sum");
  }
  return {};
}

// The likely cause of a reduction as a whole, which says more than one element of it.
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
        const double rounding = is_integer(sums.of.dtype) ? n : 0.0;
        return std::fabs(seen[e] * n - held.after[e]) <=
               std::max(2 * n * sums.tolerance[first + e], rounding);
      })) {
    return Cause{"averaged", text("every value is ", n,
                                  " times too small; the sum is divided by the number of ranks")};
  }
  if (sums.of.op != ReduceOp::sum) return likely_cause_of_operator(sums, first, seen);
  // The end of a single block says nothing: the remainder belongs to all blocks together.
  const bool all_blocks = seen.size() == sums.inputs.front().size();
  const std::size_t tail = seen.size() % static_cast<std::size_t>(sums.of.ranks);
  if (all_blocks && tail != 0 && tail < seen.size() && at >= seen.size() - tail) {
    const auto last = tail == 1 ? std::string("only the last element is wrong")
                                : text("only the last ", tail, " elements are wrong");
    return Cause{"tail_lost", text(last, "; ", seen.size(), " is not divisible by ", n,
                                   ", so some blocks must be one element longer")};
  }
  // A float keeps 24 bits of a sum. What it keeps of every element is no chance.
  const double expected = held.after[at];
  const bool beyond = is_integer(sums.of.dtype) && expected > 0x1p24;
  const auto in_float = [](double sum) { return static_cast<double>(static_cast<float>(sum)); };
  const bool all_rounded = beyond && std::ranges::equal(seen, held.after, {}, {}, in_float);
  const std::string story = provenance(sums, first + at, seen[at]);
  const auto holds_empty_room = [&] {
    for (int empty = 1; empty < sums.of.ranks; ++empty) {
      if (!provenance(sums, first + at, seen[at] + empty).empty()) return true;
    }
    return false;
  };
  const bool near = beyond && std::fabs(seen[at] - expected) <= 0x1p-22 * expected;
  if (all_rounded || (story.empty() && near)) {
    return Cause{"rounded",
                 "the sum went through a float, in which integers beyond 16,777,216 lose their "
                 "last digits"};
  }
  // 0 says that all values are missing, and also what -1 and a 1 make.
  if ((story.empty() || seen[at] == 0) && holds_empty_room()) {
    return Cause{"adds_empty_room",
                 "an uninitialized tensor is added to the sum; in this lab empty_like fills a "
                 "tensor with -1, elsewhere its values are arbitrary"};
  }
  if (story.empty()) return std::nullopt;
  const bool several = story.find(',') != std::string::npos;
  if (several || story.ends_with("missing")) {
    return Cause{several ? "provenance" : "rank_missing",
                 story + alone_here(sums, first + at, seen[at])};
  }
  // Digits are few: that of another element can be a multiple, which one element cannot tell.
  const bool all_alike = seen.size() > 1 && everywhere([&](std::size_t e) {
                           return provenance(sums, first + e, seen[e]) == story;
                         });
  return Cause{"rank_twice", all_alike ? story
                                       : story +
                                             ", or is that of another place, where blocks "
                                             "that are added do not belong together"};
}

// The mistake in the algorithm that leaves just these sums. Fewer elements than ranks tell nothing:
// where chunks are empty, different mistakes leave the same.
std::optional<Cause> cause_in_algorithm(const Scene& scene, std::size_t rank, const Holding& held,
                                        std::span<const double> seen) {
  if (scene.mistakes == nullptr || !scene.sums) return std::nullopt;
  const Reduction& of = scene.sums->of;
  const bool tells = of.op == ReduceOp::sum && is_integer(of.dtype) && of.count >= of.ranks;
  if (!tells) return std::nullopt;
  for (auto& [cause, gives] : scene.mistakes(*scene.sums, static_cast<int>(rank))) {
    if (gives != held.after && std::ranges::equal(seen, gives)) return std::move(cause);
  }
  return std::nullopt;
}

// The likely cause by the buffer as a whole, if its first wrong element tells none.
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

}  // namespace

Cause likely_cause(const std::vector<Scene>& calls, DType dtype, std::size_t call, std::size_t rank,
                   std::size_t buffer, std::span<const double> seen, std::size_t at) {
  const Holding& held = calls[call].ranks[rank][buffer];
  if (seen.size() != static_cast<std::size_t>(held.count)) {
    return {"length", "the length of the buffer changed"};
  }
  if (!held.reduced() && !held.before.empty() && held.before == held.after) {
    return {"scribbled",
            text("`", held.name, "` must not change on rank ", rank, ", but the call wrote to it")};
  }
  if (was_posted(dtype, seen[at], calls[call].ranks.size())) {
    return {"posted_room",
            "this element was read after an irecv was posted into its buffer; until wait() "
            "returns, the contents of that buffer are undefined. Receive into another buffer, or "
            "post the irecv later"};
  }
  if ((std::isnan(seen[at]) && !some_bring_nan(calls)) || seen[at] == -1) {
    return {"unwritten", "nothing was ever received or copied into this element"};
  }
  if (auto cause = cause_in_algorithm(calls[call], rank, held, seen)) return *std::move(cause);
  if (std::ranges::equal(seen, held.before) && seen.size() >= calls[call].ranks.size()) {
    return {"unchanged",
            "the element still has its value from before the call; nothing was added to it, or the "
            "result lies in another tensor"};
  }
  if (calls[call].sums) {
    for (std::size_t other = 0; other < calls[call].ranks.size(); ++other) {
      if (buffer >= calls[call].ranks[other].size()) continue;
      const Holding& its = calls[call].ranks[other][buffer];
      const bool is_a_result = its.after != its.before;  // a rank that is no root keeps its input
      if (other == rank || !is_a_result || its.after == held.after) continue;
      if (!std::ranges::equal(seen, its.after)) continue;
      return {"result_of_another",
              text("all of `", held.name, "` is right for rank ", other,
                   ": the block with which a rank ends is another one, or has another start")};
    }
    const auto guess = likely_cause_of_sum(*calls[call].sums, held, seen, at);
    if (guess) return *guess;
  }
  const std::string origin = origin_of(calls, call, seen[at]);
  if (auto cause = likely_cause_of_all(calls, call, rank, buffer, seen)) {
    if (!origin.empty()) cause->sentence += text(" (the value seen is ", origin, ")");
    return *std::move(cause);
  }
  if (at < held.before.size() && seen[at] == held.before[at]) {
    return {"unchanged", "the element still has its value from before the call"};
  }
  if (auto cause = cause_by_neighbours(calls, call, static_cast<int>(rank), held, seen)) {
    return *std::move(cause);
  }
  const auto belongs = [](const std::string& right) {
    return right.empty() ? "" : text(", where ", right, " should be");
  };
  if (const std::string whole = stretch_of(calls, call, seen); !whole.empty()) {
    return {"wrong_place", text("all of `", held.name, "` is ", whole,
                                belongs(stretch_of(calls, call, held.after)))};
  }
  if (!origin.empty()) {
    return {"wrong_place",
            text("the value seen is ", origin, belongs(origin_of(calls, call, held.after[at])))};
  }
  return {"value", "no rank's input contains the value seen"};
}

void tell_sent_to_root(Failure& found, const CollectiveProblem& p,
                       const std::vector<Scene>& calls) {
  if (found.verdict != Verdict::deadlock || calls.empty()) return;
  const auto brings = [&](int rank) {
    const auto& buffers = calls.front().ranks[static_cast<std::size_t>(rank)];
    return std::ranges::any_of(buffers, [](const Holding& held) { return !held.before.empty(); });
  };
  for (int rank = 0; rank < p.size(); ++rank) {
    if (brings(rank) != (rank == p.root)) return;
  }
  const int root = p.members.ranks[static_cast<std::size_t>(p.root)];
  const auto in_root = std::ranges::find(found.ranks, root);
  if (in_root == found.ranks.end() || found.ranks.size() < 2) return;
  const int sender = in_root == found.ranks.begin() ? found.ranks.back() : *(in_root - 1);
  const std::string sends = text("rank ", sender, " waits in send to rank ", root, " ");
  if (found.message.find(sends) == std::string::npos) return;
  found.message.resize(std::min(found.message.size(), found.message.find("; all of them")));
  found = because(
      {"sends_to_the_root", text("rank ", sender, " sends to the root, rank ", root,
                                 ", which has everything from the beginning and receives nothing",
                                 std::has_single_bit(static_cast<unsigned>(p.size()))
                                     ? ""
                                     : ". In a tree of so many ranks, some partners do not exist, "
                                       "and modulo N their places are those of other ranks")},
      std::move(found));
}

}  // namespace lockstep::grader
