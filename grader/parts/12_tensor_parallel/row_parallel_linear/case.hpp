// The case format of row_parallel_linear, shared by adapter and exam: that of a layer. Alone, its
// parameters are the weight and the bias, if there is one. In a pair, the weight and the bias of a
// column-parallel layer come before them.
#pragma once

#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// By place in LayerCase::options: whether a layer has a bias, and stands behind another one.
enum class RowOption : std::uint8_t { biased, pair };

}  // namespace lockstep::grader
