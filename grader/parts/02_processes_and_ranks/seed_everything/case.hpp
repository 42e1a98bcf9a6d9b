// The case format of seed_everything, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/seeds.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct SeedQuestion {
  std::uint64_t run_seed = 0;
  MeshCoordinates where;
  int loader_worker = 0;
};

inline Bytes encode(const std::vector<SeedQuestion>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(q.run_seed).put(q.where.data).put(q.where.tensor).put(q.where.pipeline);
    out.put(q.loader_worker);
  }
  return out.take();
}

inline std::vector<SeedQuestion> decode_seed_questions(ByteReader& in) {
  std::vector<SeedQuestion> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.run_seed = in.get<std::uint64_t>();
    q.where.data = in.get<int>();
    q.where.tensor = in.get<int>();
    q.where.pipeline = in.get<int>();
    q.loader_worker = in.get<int>();
  }
  return questions;
}

}  // namespace lockstep::grader
