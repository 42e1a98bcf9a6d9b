// The case format of distributed_sampler, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "grader/play/ending.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

inline Bytes encode(const std::vector<data::SamplerOptions>& questions) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(questions.size()));
  for (const auto& q : questions) {
    out.put(q.length).put(q.rank).put(q.ranks).put(q.seed).put(q.epoch).put(q.order).put(q.tail);
  }
  return out.take();
}

inline std::vector<data::SamplerOptions> decode_sampler_case(ByteReader& in) {
  std::vector<data::SamplerOptions> questions(in.get<std::uint32_t>());
  for (auto& q : questions) {
    q.length = in.get<std::int64_t>();
    q.rank = in.get<int>();
    q.ranks = in.get<int>();
    q.seed = in.get<std::uint64_t>();
    q.epoch = in.get<int>();
    q.order = in.get<data::Order>();
    q.tail = in.get<data::Tail>();
  }
  return questions;
}

}  // namespace lockstep::grader
