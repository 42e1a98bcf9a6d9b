// Whole tensors that are dealt to the ranks of a group, each rank its piece; and the way back,
// which says where an element of a piece lies in the whole. For exams of computations on shards
// (play/sharded_play.hpp): a member is given its piece, reports its piece, and could not make
// another one.
//
// Invariants
//   1. A place counts the elements of the wholes, one whole after the other.
//   2. An element of a piece has a place, or is padding. Several ranks may hold one place.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/parallel/zero/flat_shards.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/wrong_terms.hpp"

namespace lockstep::grader {

class Dealt {
 public:
  static constexpr std::int64_t padding = -1;
  struct Whole {
    std::string name;  // "parameter 2"
    std::int64_t count = 0;
  };

  //   places  by rank: of each element of its piece, its place, or padding
  Dealt(std::vector<Whole> wholes, std::vector<std::vector<std::int64_t>> places)
      : wholes_(std::move(wholes)), places_(std::move(places)) {}

  int ranks() const { return static_cast<int>(places_.size()); }
  std::span<const std::int64_t> places(int rank) const {
    return places_[static_cast<std::size_t>(rank)];
  }
  // The piece of `rank`; padding is 0.
  std::vector<double> piece(int rank, std::span<const double> whole) const;
  // "element 3 on rank 1, which is element 5 of parameter 2", or "…, which is padding".
  std::string where(int rank, std::size_t element) const;
  // "element 5 of parameter 2"
  std::string name_of(std::int64_t place) const;

 private:
  std::vector<Whole> wholes_;
  std::vector<std::vector<std::int64_t>> places_;
};

// Parameters of `counts` elements, dealt as the plan says.
Dealt deal_of(const zero::FlatShards& plan, std::span<const std::int64_t> counts);

// The pieces of all ranks as they must be, as one whole, and what usual mistakes make of it.
struct ExpectedPieces {
  std::string name;  // "the first moment after 10 steps"
  DType dtype = DType::float64;
  std::vector<double> whole, tolerance;                  // by place
  std::vector<Mistake<std::vector<double>>> mistakes{};  // the wholes that usual ones give
  // Asked when something is wrong: what adds up to the whole.
  std::function<std::vector<Term>()> terms{};
  Cause otherwise{"other_values", "other elements went into it, or they lie in other places"};
  Cause padding{"padding", "this element belongs to no parameter. It was 0 and has to stay 0"};
};

// Compares each rank's piece with its part of the whole.
void check_pieces(CaseRunner& runner, const Played& played, const Dealt& deal,
                  const ExpectedPieces& expected, const std::vector<Bytes>& pieces);

}  // namespace lockstep::grader
