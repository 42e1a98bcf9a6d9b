// The case format of conjugate_operators, shared by adapter and exam: that of a layer, with one
// option.
#pragma once

#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// The part of the region that a case computes: one operator alone; or both, with a product between,
// of which each rank has its own factors.
enum class OperatorsAsked : std::int64_t { enter, leave, both };

}  // namespace lockstep::grader
