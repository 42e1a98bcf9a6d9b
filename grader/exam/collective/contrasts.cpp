// Contrasts: a failed case of a collective is held beside others that differ from it in one
// respect.
#include <algorithm>
#include <array>
#include <bit>

#include "grader/exam/collective/rules.hpp"

namespace lockstep::grader {
namespace {

// The sentences of these are true of many mistakes. A cause of another name says what to change.
constexpr std::array<std::string_view, 19> vague{
    "unwritten",      "unchanged",    "rank_missing",  "rank_twice",      "provenance",
    "wrong_place",    "value",        "operator",      "returned_early",  "cycle",
    "ranks_disagree", "crash",        "shapes_differ", "piece_outside",   "index_outside",
    "wrong_size",     "peer_outside", "tail_lost",     "waits_for_nobody"};

using Problem = CollectiveProblem;

Problem on(Problem p, int ranks) {
  p.members = whole_world(ranks);
  p.root = std::min(p.root, ranks - 1);
  const auto n = static_cast<std::size_t>(ranks);
  if (!p.sends.empty()) p.sends.assign(n, std::vector<std::int64_t>(n, 2));
  return p;
}

std::vector<Contrast<Problem>> of_lengths(const Problem& p) {
  std::vector<Contrast<Problem>> all;
  const int n = p.size();
  Problem q = p;
  for (auto& row : q.sends) std::ranges::replace(row, 0, 1);
  if (q.sends != p.sends) {
    all.push_back({{q},
                   "the same passes if no block is empty: an empty block leaves out its own send "
                   "and receive, and nothing else"});
  }
  if (!p.sends.empty()) {
    all.push_back({{on(p, n)},
                   "blocks of one length pass: a block begins where the one before it ends, and "
                   "to_each and from_each tell the length of each"});
  } else if (p.count % n != 0) {
    q.count = (p.count / n + 1) * n;
    const std::string same =
        text("the same passes with ", q.count, " elements, which N = ", n, " divides: ");
    all.push_back(
        {{q},
         same + "block b begins at ⌊b·D/N⌋, " +
             (p.count < n ? "so some blocks are empty here, and their ranks take part, too"
                          : "so some blocks are one element longer than others here")});
  }
  return all;
}

}  // namespace

std::vector<Contrast<Problem>> contrasts_of(const Failure& found, const Problem& p) {
  if (std::ranges::find(vague, found.cause) == vague.end() || p.death) return {};
  std::vector<Contrast<Problem>> all;
  const int n = p.size();
  if (p.op != ReduceOp::sum && !found.message.ends_with("was ignored")) {
    Problem sum = p;
    sum.op = ReduceOp::sum;
    all.push_back({{sum},
                   "the sum is right: look at what the result begins with (0 is neutral in a sum "
                   "alone), and whether each step is given the operator"});
  }
  if (n == 1) {
    all.push_back({{on(p, 2)},
                   "with 2 ranks it passes: a rank that is alone receives nothing, and its own "
                   "data still has to get to its place"});
    return all;
  }
  for (auto& one : of_lengths(p)) all.push_back(std::move(one));
  if (p.nodes && p.nodes->ranks_each == 1) {
    Problem pairs = p;
    pairs.members = whole_world(2 * n);
    pairs.nodes->ranks_each = pairs.nodes->network.ranks_per_node = 2;
    all.push_back({{pairs},
                   "with nodes of 2 ranks it passes: a rank that is alone on its node has nothing "
                   "to share there, and still reduces with the other nodes"});
  }
  if (p.nodes || n == 2) return all;
  const Problem two = on(p, 2);
  if (!std::has_single_bit(static_cast<unsigned>(n))) {
    all.push_back({{two, on(p, 4), on(p, 8)},
                   text("with 2, 4, and 8 ranks it passes: ", n,
                        " is no power of two, so some ranks have no partner in a step or lie "
                        "beyond the largest power of two, and these take part as all others do")});
  }
  all.push_back({{two},
                 "with 2 ranks it passes: look at what a rank sends, and where it receives, after "
                 "its first step"});
  return all;
}

}  // namespace lockstep::grader
