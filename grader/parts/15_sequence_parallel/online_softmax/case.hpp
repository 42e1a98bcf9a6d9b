// The case format of online_softmax, shared by adapter and exam: partial results of one query, and
// an order in which they are merged.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/parallel/sequence/online_softmax.hpp"

namespace lockstep::sequence_parallel {

template <typename Archive>
void fields(Archive& archive, Partial& partial) {
  archive(partial.log_sum, partial.output);
}

}  // namespace lockstep::sequence_parallel

namespace lockstep::grader {

struct MergeQuestion {
  std::vector<sequence_parallel::Partial> partials{};
  // Two places in `partials`: the second one is merged into the first. The answer is the one at
  // place 0.
  std::vector<std::array<std::int32_t, 2>> merges{};
};

struct MergeAnswer {
  sequence_parallel::Partial merged{};
  bool changed = false;  // a partial result that was only merged into others is another one now
};

template <typename Archive>
void fields(Archive& archive, MergeQuestion& question) {
  archive(question.partials, question.merges);
}
template <typename Archive>
void fields(Archive& archive, MergeAnswer& answer) {
  archive(answer.merged, answer.changed);
}

}  // namespace lockstep::grader
