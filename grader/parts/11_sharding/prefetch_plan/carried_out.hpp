// A plan as the judge carries it out on paper: what is there when, and how long the pass takes. It
// knows what every gather, pass and reduction costs; who wrote the plan does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/11_sharding/prefetch_plan/case.hpp"

namespace lockstep::grader::prefetch_plan {

using Question = PrefetchQuestion;
using zero::Act;
using zero::Action;
using zero::Actions;

// The units in the order in which they run.
std::vector<int> turns(const Question& q);

// "gather 2"
std::string text_of(const Action& action);

// An action that cannot be carried out, or the end of a plan to which something is missing.
struct PlanFlaw {
  std::size_t place = 0;  // of the action in the list; its length: the end
  std::string sentence;
  Cause cause;
};
std::optional<PlanFlaw> flaw_of(const Question& q, const Actions& plan);

// Requires a plan without flaws, here and below.
struct Alive {
  int most = 0;           // units at a time
  std::size_t place = 0;  // of the gather that first made them so many
};
Alive most_alive(const Question& q, const Actions& plan);

// The gather of a unit whose parameters were freed in the same pass.
std::optional<std::size_t> gathered_again(const Actions& plan);

struct Carried {
  double seconds = 0;               // until passes and collectives are over
  double computed_s = 0;            // of it, in passes
  std::vector<double> began_s;      // each pass, in its turn
  std::vector<std::size_t> places;  // of the passes in the list
};
Carried carry_out(const Question& q, const Actions& plan);

// The plan that gathers each unit as soon as there is room. No other one takes less time, since
// units are gathered in their turn: then earlier is never worse, neither for the passes nor for
// what else is in the queue.
Actions as_early_as_possible(const Question& q);

}  // namespace lockstep::grader::prefetch_plan
