// The steps of a case as Adam takes them on one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/ranks/dealt.hpp"
#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/members.hpp"
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
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  GradientPlan gradients() const;
  zero::FlatShards plan() const;
  AdamRule rule() const;
  double rate(int step) const { return 0.01 * (1 + 0.5 * (step % 3)); }
  // True if a step softens the mean gradient, where that hides no value and costs no memory.
  bool softens() const { return held == Held::usual && !measured; }
  std::string description() const;
};

inline constexpr int decay_dims_min = 2;

Zero1Case case_of(const Problem& p, std::uint64_t salt, int rank);

// Numbers of all parameters, one after the other.
struct Trained {
  std::vector<std::vector<double>> values;  // after each step
  std::vector<double> first, second;        // after the last one
};
Trained train(const Problem& p, std::uint64_t salt);

// The moments before the first step, of all parameters.
std::vector<double> first_moment(const Problem& p, std::uint64_t salt);
std::vector<double> second_moment(const Problem& p, std::uint64_t salt);

std::int64_t updates_given(std::uint64_t salt);
std::vector<double> tolerance_of(const Problem& p, std::span<const double> right);

}  // namespace lockstep::grader::zero_1_optimizer
