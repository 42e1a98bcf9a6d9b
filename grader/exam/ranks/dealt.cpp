#include "grader/exam/ranks/dealt.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "grader/exam/function/odd_values.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

// Moved further than this, elements are another piece.
constexpr std::int64_t moved_max = 64;

class WrongPiece {
 public:
  WrongPiece(const Dealt& deal, const ExpectedPieces& expected, int rank,
             std::span<const double> seen)
      : deal_(deal), expected_(expected), rank_(rank), seen_(seen) {}

  Cause cause(std::size_t at) const {
    const auto places = deal_.places(rank_);
    if (places[at] == Dealt::padding) return expected_.padding;
    if (auto odd = cause_by_finiteness(seen_, deal_.piece(rank_, expected_.whole), at)) return *odd;
    if (const double right = expected_.whole[static_cast<std::size_t>(places[at])];
        !std::isfinite(seen_[at]) && std::isfinite(right)) {
      if (auto large = overflowing_sum({&right, 1}, deal_.ranks(), expected_.dtype)) return *large;
    }
    for (const auto& usual : expected_.mistakes) {
      if (is(deal_.piece(rank_, usual.gives))) return usual.cause;
    }
    if (std::isnan(seen_[at])) {
      return {
          "no_number",
          "no right number is NaN: this one was read before it was written or before wait() had "
          "brought it, or is 0 / 0 or ∞ - ∞"};
    }
    for (int other = 0; other < deal_.ranks(); ++other) {
      if (std::ranges::equal(deal_.places(other), places)) continue;  // itself, or a replica
      if (!is(deal_.piece(other, expected_.whole))) continue;
      return {"piece_of_another", text("it is right for rank ", other,
                                       ": whose piece is whose goes by the rank in the group")};
    }
    if (const std::int64_t by = moved(); by != 0) {
      return {"moved",
              text("every element is the one ", std::abs(by), by > 0 ? " behind" : " before",
                   " the right one in the whole: a start was counted wrongly, as with padding, or "
                   "the parts lie in another order")};
    }
    if (auto multiple = multiple_of_right()) return *multiple;
    if (auto terms = other_weights()) return *terms;
    if (is(sum_of_pieces())) {
      return {"pieces_summed",
              "it is the sum of all ranks' pieces; these are other elements of the whole, and no "
              "terms of a sum, so nothing is reduced here"};
    }
    if (auto exchanged = axes_exchanged()) return *exchanged;
    if (auto elsewhere = elements_of_other_places()) return *elsewhere;
    return expected_.otherwise;
  }

 private:
  using Numbers = std::vector<double>;

  // The piece may be the right one, times a number.
  std::optional<Cause> multiple_of_right() const {
    const Numbers right = deal_.piece(rank_, expected_.whole);
    const auto one = std::ranges::max_element(
        right, {}, [](double value) { return std::isfinite(value) ? std::fabs(value) : 0; });
    if (one == right.end() || *one == 0 || !std::isfinite(*one)) return std::nullopt;
    const double factor = seen_[static_cast<std::size_t>(one - right.begin())] / *one;
    Numbers scaled = right;
    for (double& value : scaled) value *= factor;
    if (!std::isfinite(factor) || !is(scaled)) return std::nullopt;
    if (factor == 0) {
      return Cause{"all_zero",
                   "all of it is 0 on this rank: nothing was written there, or it was made 0"};
    }
    if (std::fabs(factor - 1) < 1e-4) {
      return Cause{"last_digits",
                   "only the last digits are wrong: on the way, a number went through a smaller "
                   "type, or was rounded once too often"};
    }
    if (std::ssize(right) < 2) return std::nullopt;  // one number is a multiple of any other
    const double ranks = deal_.ranks(), times = std::round(factor), part = std::round(1 / factor);
    const std::string by =
        text("all of it is ", number(std::round(factor * 1e4) / 1e4), " times the right one: ");
    if (times > 1 && std::fabs(factor - times) < 1e-4) {
      return Cause{
          "too_large",
          text(by, times == ranks ? "a sum over the ranks is taken once too often, or " : "",
               "it is added to itself, or never divided")};
    }
    if (part > 1 && std::fabs(1 / factor - part) < 1e-4) {
      return Cause{
          "too_small",
          text("all of it is 1/", part, " of the right one: it is divided",
               part == ranks ? text(" by the number of ranks once too often, or by another ", part)
                             : text(" by ", part, " once too often"),
               ", or a sum lacks equal terms")};
    }
    const double divisor = ranks / factor;
    if (ranks > 1 && divisor > 1 && std::fabs(divisor - std::round(divisor)) < 1e-3) {
      return Cause{"other_divisor", text(by, "as if it were divided by ", std::round(divisor),
                                         ", and not by the ", ranks, " ranks")};
    }
    return Cause{"other_factor", text(by, "it is multiplied or divided by a wrong number")};
  }

  std::optional<Cause> other_weights() const {
    if (!expected_.terms) return std::nullopt;
    std::vector<Term> terms = expected_.terms();
    for (Term& term : terms) term.values = deal_.piece(rank_, term.values);
    return cause_of_terms(seen_, deal_.piece(rank_, expected_.whole), terms,
                          expected_.dtype == DType::float64 ? 1e-6 : 1e-4);
  }

  Numbers sum_of_pieces() const {
    Numbers sum = deal_.piece(0, expected_.whole);
    for (int rank = 1; rank < deal_.ranks(); ++rank) {
      const Numbers piece = deal_.piece(rank, expected_.whole);
      if (piece.size() != sum.size()) return {};
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += piece[e];
    }
    return deal_.ranks() > 1 ? sum : Numbers();
  }

  // The ranks' parts of each row stand side by side, [rows, ranks, length], or one rank's rows
  // behind another's, [ranks, rows, length]; and one was taken for the other.
  std::optional<Cause> axes_exchanged() const {
    const Numbers right = deal_.piece(rank_, expected_.whole);
    const auto ranks = static_cast<std::size_t>(deal_.ranks()), of_rank = right.size() / ranks;
    if (expected_.dtype != DType::float64 || ranks < 2 || of_rank * ranks != right.size()) {
      return std::nullopt;
    }
    const auto exchanged = [&](std::size_t first, std::size_t second) {
      const std::size_t length = right.size() / (first * second);
      Numbers other;
      for (std::size_t j = 0; j < second; ++j) {
        for (std::size_t i = 0; i < first; ++i) {
          const auto at = right.begin() + static_cast<std::ptrdiff_t>((i * second + j) * length);
          other.insert(other.end(), at, at + static_cast<std::ptrdiff_t>(length));
        }
      }
      return is(other);
    };
    for (std::size_t rows = 2; rows <= of_rank; ++rows) {
      if (of_rank % rows != 0) continue;
      if (!exchanged(rows, ranks) && !exchanged(ranks, rows)) continue;
      return Cause{
          "axes_exchanged",
          "all of it is right, but rows and ranks are exchanged: all rows of rank 0 and then "
          "those of rank 1, as a collective brings them, are not the parts of the ranks "
          "side by side in each row"};
    }
    return std::nullopt;
  }

  // Each wrong element is right at another place. Numbers that are drawn from a few say nothing.
  std::optional<Cause> elements_of_other_places() const {
    if (expected_.dtype != DType::float64) return std::nullopt;
    std::multimap<double, std::size_t> by_value;
    for (std::size_t e = 0; e < expected_.whole.size(); ++e)
      by_value.emplace(expected_.whole[e], e);
    const Numbers right = deal_.piece(rank_, expected_.whole);
    std::optional<std::size_t> first;
    for (std::size_t e = 0; e < seen_.size(); ++e) {
      const double slack = near_enough(seen_[e]);
      if (std::fabs(seen_[e] - right[e]) <= slack) continue;
      const auto from = by_value.lower_bound(seen_[e] - slack);
      if (from == by_value.end() || from->first > seen_[e] + slack) return std::nullopt;
      if (!first) first = from->second;
    }
    if (!first) return std::nullopt;
    return Cause{"other_places",
                 text("every wrong element is the right one of another place: this one is ",
                      deal_.name_of(static_cast<std::int64_t>(*first)))};
  }

  bool is(std::span<const double> other) const {
    return other.size() == seen_.size() && !first_difference(seen_, other, tolerance_for(other));
  }
  std::vector<double> tolerance_for(std::span<const double> other) const {
    std::vector<double> all;
    for (const double value : other) all.push_back(near_enough(value));
    return all;
  }
  // Enough to recognise a mistake. The sums of a narrow type may have cancelled.
  double near_enough(double value) const {
    const bool wide = expected_.dtype == DType::float64;
    return wide ? 1e-6 * std::fabs(value) + 1e-12 : 1e-4 * std::fabs(value) + 1e-5;
  }
  // The distance by which all elements are moved in the whole, or 0. Those at the ends of the whole
  // may come from nowhere, and most must not.
  std::int64_t moved() const {
    const auto places = deal_.places(rank_);
    const std::int64_t count = std::ssize(expected_.whole);
    for (std::int64_t k = 1; k <= 2 * moved_max; ++k) {
      const std::int64_t by = k % 2 == 1 ? (k + 1) / 2 : -k / 2;
      bool fits = true;
      std::size_t matched = 0;
      for (std::size_t e = 0; e < seen_.size() && fits; ++e) {
        const std::int64_t from = places[e] + by;
        if (places[e] == Dealt::padding || from < 0 || from >= count) continue;
        const double right = expected_.whole[static_cast<std::size_t>(from)];
        fits = std::fabs(seen_[e] - right) <= near_enough(right);
        ++matched;
      }
      if (fits && 2 * matched > seen_.size()) return by;
    }
    return 0;
  }

  const Dealt& deal_;
  const ExpectedPieces& expected_;
  int rank_;
  std::span<const double> seen_;
};

// Says which ranks have a tensor right that no mistake explains, or how far it is right on this
// one.
std::string extent(const Dealt& deal, const ExpectedPieces& expected,
                   const std::vector<Bytes>& pieces, int rank) {
  const auto first_wrong = [&](int of) {
    const auto seen = as_doubles(expected.dtype, pieces.at(static_cast<std::size_t>(of)));
    return first_difference(seen, deal.piece(of, expected.whole),
                            deal.piece(of, expected.tolerance));
  };
  int right = 0, behind = 0;  // ranks that have it right, and those of them behind this one
  for (int other = 0; other < deal.ranks(); ++other) {
    if (first_wrong(other)) continue;
    ++right;
    behind += other > rank;
  }
  if (right > 0 && right == deal.ranks() - 1) return "; all other ranks have it right";
  if (right > 0 && behind == 0) {
    return text("; it is right on ", right == 1 ? "rank 0" : text("ranks 0 to ", right - 1),
                " alone");
  }
  const auto at = first_wrong(rank);
  if (!at || *at == 0) return {};
  return text("; the first ", *at == 1 ? "element is" : text(*at, " elements are"), " right");
}

}  // namespace

std::vector<double> Dealt::piece(int rank, std::span<const double> whole) const {
  std::vector<double> mine;
  for (const std::int64_t place : places(rank)) {
    mine.push_back(place == padding ? 0 : whole[static_cast<std::size_t>(place)]);
  }
  return mine;
}

std::string Dealt::where(int rank, std::size_t element) const {
  const std::string of_piece = text("element ", element, " on rank ", rank);
  const std::int64_t place = places(rank)[element];
  if (place == padding) return of_piece + ", which is padding";
  const std::string name = name_of(place);
  return name.empty() ? of_piece : text(of_piece, ", which is ", name);
}

std::string Dealt::name_of(std::int64_t place) const {
  for (const Whole& whole : wholes_) {
    if (place < whole.count) return text("element ", place, " of ", whole.name);
    place -= whole.count;
  }
  return "";
}

Dealt deal_of(const zero::FlatShards& plan, std::span<const std::int64_t> counts) {
  std::vector<Dealt::Whole> wholes;
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (const std::int64_t count : counts) {
    wholes.push_back({text("parameter ", wholes.size()), count});
    starts.push_back(start);
    start += count;
  }
  std::vector<std::vector<std::int64_t>> places;
  for (const auto& pieces : plan.ranks) {
    auto& mine = places.emplace_back(static_cast<std::size_t>(plan.shard), Dealt::padding);
    for (const zero::ShardPiece& piece : pieces) {
      for (std::int64_t e = piece.begin; e < piece.end; ++e) {
        mine[static_cast<std::size_t>(piece.offset + e - piece.begin)] =
            starts[piece.parameter] + e;
      }
    }
  }
  return {std::move(wholes), std::move(places)};
}

void check_pieces(CaseRunner& runner, const Played& played, const Dealt& deal,
                  const ExpectedPieces& expected, const std::vector<Bytes>& pieces) {
  for (int rank = 0; rank < deal.ranks(); ++rank) {
    const auto seen = as_doubles(expected.dtype, pieces.at(static_cast<std::size_t>(rank)));
    const auto right = deal.piece(rank, expected.whole);
    const std::string of_rank = text(expected.name, " of rank ", rank);
    if (seen.size() != right.size()) {
      runner.fail(played,
                  {.cause = "wrong_size",
                   .message = text(of_rank, " has ", seen.size(), " elements where its piece ",
                                   "of the plan has ", right.size(), ", padding included"),
                   .expected = text(right.size(), " elements"),
                   .seen = text(seen.size(), " elements"),
                   .where = text("rank ", rank)});
    }
    const auto at = first_difference(seen, right, deal.piece(rank, expected.tolerance));
    if (!at) continue;
    const std::string wanted = number_at(right, *at, expected.dtype),
                      shown = number_at(seen, *at, expected.dtype);
    Cause cause = WrongPiece(deal, expected, rank, seen).cause(*at);
    if (cause.sentence == expected.otherwise.sentence) {
      cause.sentence += extent(deal, expected, pieces, rank);
    }
    runner.fail(played,
                because(cause, {.message = text(expected.name, " is ", shown, " where ", wanted,
                                                " is right: ", deal.where(rank, *at)),
                                .expected = wanted,
                                .seen = shown,
                                .where = deal.where(rank, *at)}));
  }
}

}  // namespace lockstep::grader
