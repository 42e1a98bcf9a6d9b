// The problems of dispatch_and_combine's exam, and what one device with all experts makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/layer/exam.hpp"
#include "grader/parts/14_expert_parallel/dispatch_and_combine/case.hpp"

namespace lockstep::grader::dispatch_and_combine {

using expert_parallel::Route;
using expert_parallel::SlotPlan;

enum class Choices : std::uint8_t {
  drawn,
  to_one,  // all tokens choose expert 0 first
  even     // all experts have as many places on each rank
};
// The argument that does not fit, in a case that the part must refuse.
enum class Misfit : std::uint8_t { nothing, experts, tokens, weights };

struct Problem : LayerProblem {
  std::vector<std::int64_t> tokens{};  // by rank
  std::int64_t experts = 4, k = 2, width = 3;
  std::int64_t capacity = INT64_MAX;
  Choices choices = Choices::drawn;
  Misfit misfit = Misfit::nothing;

  std::int64_t own() const { return experts / ranks(); }  // experts of a rank
  std::string description() const;
};

SlotPlan plan_of(const Problem& p, std::uint64_t salt, int rank);

Layer layer_of(const Problem& p, std::uint64_t salt);

}  // namespace lockstep::grader::dispatch_and_combine
