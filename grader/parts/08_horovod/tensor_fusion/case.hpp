// The case format of tensor_fusion, shared by adapter and exam.
#pragma once

#include "engine/parallel/horovod/tensor_fusion.hpp"
#include "grader/play/part.hpp"

namespace lockstep::horovod {

template <typename Archive>
void fields(Archive& archive, Ready& ready) {
  archive(ready.count, ready.dtype);
}
template <typename Archive>
void fields(Archive& archive, FusionPlan& plan) {
  archive(plan.groups);
}

}  // namespace lockstep::horovod

namespace lockstep::grader {

struct FusionQuestion {
  std::vector<horovod::Ready> in_order;
  std::int64_t threshold_bytes = 0;
};
template <typename Archive>
void fields(Archive& archive, FusionQuestion& question) {
  archive(question.in_order, question.threshold_bytes);
}

}  // namespace lockstep::grader
