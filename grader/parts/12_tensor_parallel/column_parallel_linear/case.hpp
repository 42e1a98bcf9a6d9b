// The case format of column_parallel_linear, shared by adapter and exam: that of a layer. The first
// parameter is the weight, and the second the bias, if there is one.
#pragma once

#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

// Which options a case has, by their place in LayerCase::options.
enum class ColumnOption : std::uint8_t { whole };

}  // namespace lockstep::grader
