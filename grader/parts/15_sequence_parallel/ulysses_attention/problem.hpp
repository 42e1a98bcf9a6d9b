// The problems of ulysses_attention's exam, and what one device makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/exam/function/dense_attention.hpp"
#include "grader/exam/layer/exam.hpp"
#include "grader/exam/ranks/slices.hpp"

namespace lockstep::grader::ulysses_attention {

// The argument that does not fit, in a case that the part must refuse.
enum class Misfit : std::uint8_t {
  nothing,
  heads,   // ranks do not divide them
  few,     // fewer tokens than ranks
  slice,   // a rank has a token more than its slice
  columns  // these are no queries, keys and values of so many heads
};

struct Problem : LayerProblem {
  std::int64_t batch = 2, tokens = 7, heads = 4, head_size = 3;
  Misfit misfit = Misfit::nothing;

  std::int64_t width() const { return heads * head_size; }
  std::vector<Positions> slices() const { return slices_of(Cut::equal, tokens, ranks()); }
  std::string description() const;
};

Layer layer_of(const Problem& p, std::uint64_t salt);

}  // namespace lockstep::grader::ulysses_attention
