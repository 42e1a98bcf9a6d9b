// The checks of every all-reduce over messages. An exam adds the closed forms of its algorithm.
#pragma once

#include "grader/exam/collective/rules.hpp"

namespace lockstep::grader {

// Every rank brings `data`, and ends with the reduction in it.
Scene all_reduce_scene(const CollectiveProblem& p, std::uint64_t salt, int call);

// The contract of an all-reduce whose algorithm costs `price`; `cost` is the sentence of that
// check.
CollectiveContract all_reduce_contract(std::string cost,
                                       std::function<Price(const CollectiveProblem&)> price,
                                       LeftByMistakes mistakes = nullptr);

// Every rank brings data and ends with the reduction: every rank's value once, the same bits
// everywhere. `cost` is the sentence of the last check, which holds the calls to `price`.
Exam all_reduce_exam(std::string cost, std::function<Price(const CollectiveProblem&)> price);

}  // namespace lockstep::grader
