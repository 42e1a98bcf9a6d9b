// The passes of unused_parameters: which rank uses what, what is there before, and what is right
// after each pass.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/exam/ranks/gradient_rules.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/parts/07_ddp/unused_parameters/case.hpp"

namespace lockstep::grader::unused_parameters {

struct Pass {
  // mixed: of four parameters in a row, all ranks use one, one rank another, no rank a third, and
  // all ranks but one the fourth; which is which changes from pass to pass.
  enum class Sets : std::uint8_t { mixed, all, none, not_rank_0 } sets = Sets::mixed;
  // taken: every grad was taken away. kept: those of the pass before are there. added: taken away,
  // then an unreduced pass made one for every other parameter.
  enum class Before : std::uint8_t { taken, kept, added } before = Before::taken;
};

struct UnusedProblem {
  Members members{};
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes{};  // elements of each parameter
  collectives::BucketPlan plan{};
  std::vector<Pass> passes{};
  double late_s = 0;     // by which the last rank begins each pass after the others
  double gap_s = 20e-6;  // what a gradient takes
  Held held = Held::usual;
  bool bare = false;  // the reducer that the part is given does nothing
  std::uint64_t schedule_seed = 0;

  int ranks() const { return members.size(); }
  GradientPlan gradients() const;
  std::string description() const;
};

// " in pass 2", or nothing where there is but one.
std::string in_pass(const UnusedProblem& problem, std::size_t pass);

UnusedCase case_of(const UnusedProblem& problem, std::uint64_t salt, int rank);

// True if a rank's backward brings a gradient to parameter i. users_of() counts such ranks.
bool uses(const UnusedProblem& problem, std::size_t pass, int rank, std::size_t i);
int users_of(const UnusedProblem& problem, std::size_t pass, std::size_t i);
bool adds_before(const UnusedProblem& problem, std::size_t pass, std::size_t i);

// A parameter's gradient after one pass.
struct RightGradient {
  int users = 0;
  // If some rank uses it: the values on every rank.
  std::vector<double> values, tolerance;
  // By rank, before the pass; nothing where there is none. Where no rank uses it, this stays.
  std::vector<std::optional<std::vector<double>>> before;
  std::vector<std::vector<double>> made;  // by rank; zeros where it is not used
};
// By pass and parameter.
std::vector<std::vector<RightGradient>> right_gradients(const UnusedProblem& problem,
                                                        std::uint64_t salt);

}  // namespace lockstep::grader::unused_parameters
