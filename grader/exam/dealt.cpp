#include "grader/exam/dealt.hpp"

#include <algorithm>
#include <cmath>

#include "grader/exam/odd_values.hpp"
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
    if (expected_.mistakes) {
      for (const auto& mistake : expected_.mistakes(rank_)) {
        if (is(deal_.piece(rank_, mistake.gives))) return mistake.cause;
      }
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
                   " the right one in the whole: a start was counted wrongly, as with "
                   "padding left out or counted twice")};
    }
    return expected_.otherwise;
  }

 private:
  bool is(std::span<const double> other) const {
    return !first_difference(seen_, other, tolerance_for(other));
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
  // The distance by which all elements are moved in the whole, or 0.
  std::int64_t moved() const {
    const auto places = deal_.places(rank_);
    const std::int64_t count = std::ssize(expected_.whole);
    for (std::int64_t k = 1; k <= 2 * moved_max; ++k) {
      const std::int64_t by = k % 2 == 1 ? (k + 1) / 2 : -k / 2;
      bool fits = true, any = false;
      for (std::size_t e = 0; e < seen_.size() && fits; ++e) {
        const std::int64_t from = places[e] + by;
        if (places[e] == Dealt::padding || from < 0 || from >= count) continue;
        const double right = expected_.whole[static_cast<std::size_t>(from)];
        fits = std::fabs(seen_[e] - right) <= near_enough(right);
        any = true;
      }
      if (fits && any) return by;
    }
    return 0;
  }

  const Dealt& deal_;
  const ExpectedPieces& expected_;
  int rank_;
  std::span<const double> seen_;
};

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
  std::int64_t left = places(rank)[element];
  if (left == padding) return of_piece + ", which is padding";
  for (const Whole& whole : wholes_) {
    if (left < whole.count) return text(of_piece, ", which is element ", left, " of ", whole.name);
    left -= whole.count;
  }
  return of_piece;
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
    runner.fail(played, because(WrongPiece(deal, expected, rank, seen).cause(*at),
                                {.message = text(expected.name, " is ", shown, " where ", wanted,
                                                 " is right: ", deal.where(rank, *at)),
                                 .expected = wanted,
                                 .seen = shown,
                                 .where = deal.where(rank, *at)}));
  }
}

}  // namespace lockstep::grader
