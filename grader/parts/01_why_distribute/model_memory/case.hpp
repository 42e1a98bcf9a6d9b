// The case format of model_memory, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/plan/model_memory.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct MemoryQuestion {
  std::int64_t parameters = 0;
  plan::Recipe recipe;
  std::vector<std::int64_t> saved_per_sample;
  std::int64_t batch = 0;
};

inline Bytes encode(const std::vector<MemoryQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(q.parameters).put(q.recipe.rule).put(q.recipe.precision);
    out.put_list(std::span<const std::int64_t>(q.saved_per_sample)).put(q.batch);
  }
  return out.take();
}

inline std::vector<MemoryQuestion> decode_memory_questions(ByteReader& in) {
  std::vector<MemoryQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.parameters = in.get<std::int64_t>();
    q.recipe.rule = in.get<plan::UpdateRule>();
    q.recipe.precision = in.get<plan::Precision>();
    q.saved_per_sample = in.get_list<std::int64_t>();
    q.batch = in.get<std::int64_t>();
  }
  return questions;
}

inline void write(ByteWriter& out, const plan::MemoryReport& r) {
  out.put(r.weights).put(r.gradients).put(r.master_weights).put(r.optimizer_state);
  out.put(r.activations).put(r.total);
}

inline plan::MemoryReport read_memory_report(ByteReader& in) {
  plan::MemoryReport r;
  for (std::int64_t* bytes : {&r.weights, &r.gradients, &r.master_weights, &r.optimizer_state,
                              &r.activations, &r.total}) {
    *bytes = in.get<std::int64_t>();
  }
  return r;
}

}  // namespace lockstep::grader
