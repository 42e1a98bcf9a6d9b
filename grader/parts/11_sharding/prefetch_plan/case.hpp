// The case format of prefetch_plan, shared by adapter and exam.
#pragma once

#include "engine/parallel/zero/prefetch_plan.hpp"
#include "grader/play/part.hpp"

namespace lockstep::zero {

template <typename Archive>
void fields(Archive& archive, Action& action) {
  archive(action.act, action.unit);
}

}  // namespace lockstep::zero

namespace lockstep::grader {

enum class Direction : std::uint8_t { forward, backward };

struct PrefetchQuestion {
  Direction direction = Direction::forward;
  int units = 1;
  int limit = 1;
  // By unit, not sent: seconds of its gather, of its pass, and of the reduction behind it.
  std::vector<double> gather_s{}, run_s{}, reduce_s{};
};
template <typename Archive>
void fields(Archive& archive, PrefetchQuestion& question) {
  archive(question.direction, question.units, question.limit);
}

}  // namespace lockstep::grader
