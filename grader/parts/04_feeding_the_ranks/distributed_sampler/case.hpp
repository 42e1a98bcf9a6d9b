// The case format of distributed_sampler, shared by adapter and exam.
#pragma once

#include "engine/data/distributed_sampler.hpp"
#include "grader/play/part.hpp"

namespace lockstep::data {

template <typename Archive>
void fields(Archive& archive, SamplerOptions& q) {
  archive(q.length, q.rank, q.ranks, q.seed, q.epoch, q.order, q.tail);
}

}  // namespace lockstep::data
