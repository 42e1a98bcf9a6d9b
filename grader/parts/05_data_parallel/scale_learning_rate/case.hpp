// The case format of scale_learning_rate, shared by adapter and exam.
#pragma once

#include "engine/optim/scale_learning_rate.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct RateQuestion {
  std::int64_t step = 0;
  optim::ScaledRate rate;
};

template <typename Archive>
void fields(Archive& archive, RateQuestion& q) {
  archive(q.step, q.rate.base, q.rate.base_batch, q.rate.batch, q.rate.ranks, q.rate.accumulate,
          q.rate.scaling, q.rate.warmup);
}

}  // namespace lockstep::grader
