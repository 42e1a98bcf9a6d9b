// The case format of training_time, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/plan/training_time.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class TimeForm : std::uint8_t { measured, counted };

// One question about one of the two forms; the other form's fields keep their defaults.
struct TimeQuestion {
  TimeForm form = TimeForm::measured;
  int ranks = 1;
  plan::MeasuredRun measured;
  plan::CountedRun counted;
  plan::Accelerator device;
};

inline Bytes encode(const std::vector<TimeQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(q.form).put(q.ranks);
    out.put(q.measured.samples).put(q.measured.batch_size).put(q.measured.epochs);
    out.put(q.measured.step_s).put(q.measured.efficiency);
    out.put(q.counted.parameters).put(q.counted.tokens).put(q.counted.batch_tokens);
    out.put(q.device.peak_flops_per_s).put(q.device.utilisation);
  }
  return out.take();
}

inline std::vector<TimeQuestion> decode_time_questions(ByteReader& in) {
  std::vector<TimeQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.form = in.get<TimeForm>();
    q.ranks = in.get<int>();
    q.measured.samples = in.get<std::int64_t>();
    q.measured.batch_size = in.get<std::int64_t>();
    q.measured.epochs = in.get<std::int64_t>();
    q.measured.step_s = in.get<double>();
    q.measured.efficiency = in.get<double>();
    q.counted.parameters = in.get<std::int64_t>();
    q.counted.tokens = in.get<std::int64_t>();
    q.counted.batch_tokens = in.get<std::int64_t>();
    q.device.peak_flops_per_s = in.get<double>();
    q.device.utilisation = in.get<double>();
  }
  return questions;
}

}  // namespace lockstep::grader
