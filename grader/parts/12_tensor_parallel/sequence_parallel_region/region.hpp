// A region as its ranks compute it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grader/exam/function/dense_numbers.hpp"
#include "grader/exam/layer/exam.hpp"
#include "grader/parts/12_tensor_parallel/sequence_parallel_region/case.hpp"

namespace lockstep::grader::sequence_parallel_region {

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

struct Problem : LayerProblem {
  SequenceOptions options{};
  std::int64_t batch = 2, slice = 2, width = 3;  // of a slice: tokens
  std::int64_t tokens_too_many = 0;              // that no slice has room for
  int dimensions = 3;                            // of the input; less is refused

  std::int64_t tokens() const { return ranks() * slice + tokens_too_many; }
  std::int64_t whole_bytes() const;  // of a gathered tensor
  bool is_region() const { return options.asked == SequenceAsked::region; }
  std::string description() const;
};

Layer layer_of(const Problem& p, std::uint64_t salt);

}  // namespace lockstep::grader::sequence_parallel_region
