// The exam of halving_doubling_all_reduce: the reduction everywhere, with the steps of a tree and
// the bytes of a ring.
#include <algorithm>
#include <bit>
#include <utility>

#include "grader/exam/collective/all_reduce_rules.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::halving_doubling_all_reduce {
namespace {

// Why the chain of messages is too long: a ring's is 2(N-1).
std::string why_deep(const Played& played, int n) {
  const auto to_the_right = [n](const auto& message) {
    return (message.src + 1) % n == message.dst;
  };
  if (n > 2 && std::ranges::all_of(played.counters.messages, to_the_right)) {
    return text("each of the ", n,
                " ranks sends to the next one only: a ring, of 2(N-1) steps; "
                "where N is no power of two, the ranks beyond P give their data to others first, "
                "and P ranks halve and double");
  }
  return "ranks take turns or wait for every pair, although all pairs can exchange at the same "
         "time";
}

Price price(const CollectiveProblem& p) {
  Price price;
  const std::int64_t d = p.count;
  const std::int64_t inner = std::bit_floor(static_cast<unsigned>(p.size()));
  const bool folded = inner < p.size();
  const std::int64_t rounding = d % inner == 0 ? 0 : inner - 1;
  const std::int64_t most = 2 * (inner - 1) * d / inner;
  price.shape = "halving and doubling";
  price.sent.assign(p.ranks(), folded ? Range{d - rounding, most + d + rounding}
                                      : Range{most - rounding, most + rounding});
  price.total = 2 * (p.size() - 1) * d;
  price.depth = 2 * tree_depth(static_cast<int>(inner)) + (folded ? 2 : 0);
  price.why_bytes =
      "whole buffers travel, or the same half in every step, although each step should send half "
      "as much as the one before";
  price.depth_cause = [n = p.size()](const Played& played) { return why_deep(played, n); };
  return price;
}

// The elements of `data` that a rank keeps in a step of halving, and those that it gives away.
struct Halves {
  std::pair<std::int64_t, std::int64_t> kept, given;
};
std::vector<Halves> halves_of(std::int64_t count, int inner, int rank, std::int64_t round_up) {
  std::vector<Halves> all;
  std::pair<std::int64_t, std::int64_t> mine{0, count};
  for (int apart = inner / 2; apart > 0; apart /= 2) {
    const std::int64_t middle = mine.first + (mine.second - mine.first + round_up) / 2;
    Halves step{{mine.first, middle}, {middle, mine.second}};
    if ((rank & apart) != 0) std::swap(step.kept, step.given);
    mine = step.kept;
    all.push_back(step);
  }
  return all;
}

// Which of its halves a rank exchanges, where the partners of the doubling come in the order of the
// halving.
enum class Undone : std::uint8_t { first_half_first, last_half_first };

// Halving as it is right, and then doubling with the partners in the same order.
std::vector<double> doubled_forwards(const Sums& sums, int rank, std::int64_t round_up,
                                     Undone undone) {
  const int n = sums.of.ranks, inner = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  std::vector<std::vector<double>> data = sums.inputs;
  const auto of = [&](int r) -> std::vector<double>& { return data[static_cast<std::size_t>(r)]; };
  std::vector<std::vector<Halves>> steps;
  for (int r = 0; r < inner; ++r) {
    steps.push_back(halves_of(sums.of.count, inner, r, round_up));
    for (std::size_t e = 0; r + inner < n && e < of(r).size(); ++e) of(r)[e] += of(r + inner)[e];
  }
  const std::size_t depth = steps.front().size();
  for (std::size_t step = 0; step < 2 * depth; ++step) {
    const bool halving = step < depth;
    const std::size_t at = step % depth;  // of the partner
    const std::size_t half = halving || undone == Undone::first_half_first ? at : depth - 1 - at;
    const auto before = data;
    for (int r = 0; r < inner; ++r) {
      const int partner = r ^ (inner >> (at + 1));
      const Halves &own = steps[static_cast<std::size_t>(r)][half],
                   &its = steps[static_cast<std::size_t>(partner)][half];
      const auto from = halving ? its.given : its.kept, to = halving ? own.kept : own.given;
      for (auto e = to.first, came = from.first; e < to.second && came < from.second; ++e, ++came) {
        const double value =
            before[static_cast<std::size_t>(partner)][static_cast<std::size_t>(came)];
        double& mine = of(r)[static_cast<std::size_t>(e)];
        mine = halving ? mine + value : value;
      }
    }
  }
  return of(rank < inner ? rank : rank - inner);
}

std::vector<Mistake<std::vector<double>>> mistakes_of(const Sums& sums, int rank) {
  std::vector<Mistake<std::vector<double>>> all;
  for (const std::int64_t round_up : {0, 1}) {
    for (const Undone undone : {Undone::first_half_first, Undone::last_half_first}) {
      all.push_back({{"doubles_forwards",
                      "the doubling takes the steps in the order of the halving. It undoes them: "
                      "the last one first, so that a rank gives away only what is finished"},
                     doubled_forwards(sums, rank, round_up, undone)});
    }
  }
  const std::size_t n = sums.inputs.size(), inner = std::bit_floor(n);
  const auto sum_of = [&](std::size_t first, std::size_t last) {
    std::vector<double> sum(sums.inputs.front().size());
    for (std::size_t from = first; from < last; ++from) {
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += sums.inputs[from][e];
    }
    return sum;
  };
  all.push_back({{"partner_overwritten",
                  text("what rank ", inner,
                       " sends before the halving replaces the data of its partner; reduce it into "
                       "them")},
                 sum_of(n - inner, n)});
  all.push_back({{"folded_left_out",
                  text("nothing of rank ", inner, n > inner + 1 ? " and those behind it" : "",
                       " is in the sum: their data are to be reduced into those of their partners "
                       "before the halving")},
                 sum_of(0, inner)});
  return all;
}

}  // namespace

Exam exam() {
  CollectiveContract contract = all_reduce_contract(
      "2·log2 P steps and 2(P-1)/P of the data suffice, with 2 more steps if N is not a power of "
      "two",
      price, mistakes_of);
  return collective_exam(contract);
}

}  // namespace lockstep::grader::halving_doubling_all_reduce
