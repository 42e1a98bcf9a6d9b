// The best cut of a list of layers, and the usual ways to miss it. The judge finds the smallest
// maximum by trying: it fills stages from the front under a limit, and halves the limit's range.
#pragma once

#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/13_pipeline_parallel/partition_layers/case.hpp"

namespace lockstep::grader::partition_layers {

using Boundaries = std::vector<int>;
using Question = PartitionQuestion;

double cost_of_stage(const Question& q, const Boundaries& cut, std::size_t stage);
std::size_t slowest(const Question& q, const Boundaries& cut);  // stage
double maximum_of(const Question& q, const Boundaries& cut);
Boundaries best_cut(const Question& q);

// Why a cut is not a best one.
Cause likely_cause(const Question& q, const Boundaries& seen);

}  // namespace lockstep::grader::partition_layers
