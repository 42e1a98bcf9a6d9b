// The steps of a case as Adam takes them on one device, rightly or with one of the usual mistakes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/dealt.hpp"
#include "grader/exam/gradient_rules.hpp"
#include "grader/exam/members.hpp"
#include "grader/parts/11_sharding/zero_1_optimizer/case.hpp"

namespace lockstep::grader::zero_1_optimizer {

// How the plan cuts: ranges of a flat tensor, rows of each parameter, or whole parameters, the
// largest first, to the rank that has the least.
enum class Cuts : std::uint8_t { flat, rows, whole };

struct Problem {
  Members members = whole_world(2);
  DType dtype = DType::float64;
  std::vector<std::int64_t> sizes{35, 12, 1, 64, 72, 13};
  int steps = 3;
  Cuts cuts = Cuts::flat;
  Held held = Held::usual;
  double weight_decay = 0;
  DecayForm decay_form = DecayForm::coupled;
  bool missing = false;  // every third gradient on the even ranks, the second one on all
  bool measured = false;
  std::int64_t filler = 1;  // elements in which a number stands
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  GradientPlan gradients() const;
  zero::FlatShards plan() const;
  AdamRule rule() const;
  std::string description() const;
};

inline constexpr int decay_dims_min = 2;

Zero1Case case_of(const Problem& p, std::uint64_t salt, int rank);

enum class Variant : std::uint8_t {
  right,
  summed,         // not averaged
  own_gradients,  // each owner takes its own gradients alone
  own_shares,     // the same, multiplied by 1/N
  divided_twice,
  times_zero,
  largest,        // of the ranks' shares
  from_zero,      // the moments that were given are not used
  from_one,       // their updates are not counted
  counts_pieces,  // updates are counted once a piece
  counts_late,    // after the update
  skips_missing,  // an owner without a gradient of its own updates nothing
  decays_all,     // biases, too
  decays_nothing,
  shares_rule,   // a piece that is not decayed takes decay from those behind it
  decays_above,  // parameters with more dimensions than decay_dims_min
  other_decay,   // decoupled for coupled, or the other way round
  not_gathered,  // on `rank`, elements of others stay as they were
  never_steps,
};

// Numbers of all parameters, one after the other.
struct Trained {
  std::vector<std::vector<double>> values;  // after each step
  std::vector<double> first, second;        // after the last one
};
Trained train(const Problem& p, std::uint64_t salt, Variant variant, int rank = 0);

std::int64_t updates_given(std::uint64_t salt);
std::vector<double> tolerance_of(const Problem& p, std::span<const double> right);

// The mistake that gives these parameters on `rank` after step `step`, if one does.
std::optional<Cause> mistake_of(const Problem& p, std::uint64_t salt, int rank, std::size_t step,
                                std::span<const double> seen);
// A moment, as mistakes make it.
std::vector<Mistake<std::vector<double>>> mistakes_of_moment(const Problem& p, std::uint64_t salt,
                                                             int rank,
                                                             std::vector<double> Trained::*moment);

}  // namespace lockstep::grader::zero_1_optimizer
