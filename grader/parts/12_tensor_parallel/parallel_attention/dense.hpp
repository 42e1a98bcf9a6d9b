// Attention as its ranks compute it, in plain loops of double.
#pragma once

#include <cstdint>
#include <string>

#include "grader/exam/function/dense_numbers.hpp"
#include "grader/exam/layer/exam.hpp"
#include "grader/parts/12_tensor_parallel/parallel_attention/case.hpp"

namespace lockstep::grader::parallel_attention {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The shape that does not fit, in a case that the part must refuse.
enum class Misfit : std::uint8_t {
  nothing,
  heads,       // ranks do not divide them
  input,       // x is a column wider than the weights
  projection,  // the projection back has a column less than this rank's heads make
};

struct Problem : LayerProblem {
  std::int64_t batch = 2, tokens = 3, heads = 4, head_size = 3;
  Misfit misfit = Misfit::nothing;

  std::int64_t width() const { return heads * head_size; }
  std::int64_t rows() const { return batch * tokens; }
  std::string description() const;
};

Layer layer_of(const Problem& p, std::uint64_t salt);

}  // namespace lockstep::grader::parallel_attention
