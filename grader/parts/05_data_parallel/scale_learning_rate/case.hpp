// The case format of scale_learning_rate, shared by adapter and exam.
#pragma once

#include <optional>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/optim/scale_learning_rate.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct RateQuestion {
  std::int64_t step = 0;
  optim::ScaledRate rate;
};

inline Bytes encode(const std::vector<RateQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& [step, rate] : questions) {
    out.put(step).put(rate.base).put(rate.base_batch).put(rate.batch).put(rate.ranks);
    out.put(rate.accumulate).put(rate.scaling).put(rate.warmup);
  }
  return out.take();
}

inline std::vector<RateQuestion> decode_rate_questions(ByteReader& in) {
  std::vector<RateQuestion> questions(in.get<std::uint32_t>());
  for (auto& [step, rate] : questions) {
    step = in.get<std::int64_t>();
    rate.base = in.get<double>();
    rate.base_batch = in.get<std::int64_t>();
    rate.batch = in.get<std::int64_t>();
    rate.ranks = in.get<int>();
    rate.accumulate = in.get<std::int64_t>();
    rate.scaling = in.get<optim::Scaling>();
    rate.warmup = in.get<std::int64_t>();
  }
  return questions;
}

}  // namespace lockstep::grader
