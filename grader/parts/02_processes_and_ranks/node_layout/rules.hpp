// Computes what a layout of ranks over nodes should give, and says what a wrong value is instead.
#pragma once

#include <string>
#include <vector>

#include "grader/judge/causes.hpp"
#include "grader/parts/02_processes_and_ranks/node_layout/case.hpp"

namespace lockstep::grader::node_layout {

// Every process there is, node by node; the index is its rank.
std::vector<launch::Place> all_places(const std::vector<int>& ranks_per_node);

launch::WorkerEnv expected_of(const LayoutQuestion& q);

// Why `name` has the value `seen`.
Cause likely_cause(const std::string& name, const LayoutQuestion& q, const std::string& seen,
                   const std::string& expected);
// Why `seen` was taken for the place of a rank.
Cause likely_cause(const LayoutQuestion& q, const launch::Place& seen, const launch::Place& right);

}  // namespace lockstep::grader::node_layout
