// The case format of assign_buckets, shared by adapter and exam.
#pragma once

#include "engine/parallel/ddp/assign_buckets.hpp"
#include "grader/play/bucket_plan.hpp"
#include "grader/play/part.hpp"

namespace lockstep::ddp {

template <typename Archive>
void fields(Archive& archive, ParamInfo& info) {
  archive(info.count, info.dtype, info.device);
}
template <typename Archive>
void fields(Archive& archive, BucketLimits& limits) {
  archive(limits.first_bytes, limits.cap_bytes);
}

}  // namespace lockstep::ddp

namespace lockstep::grader {

struct BucketQuestion {
  std::vector<ddp::ParamInfo> parameters;
  ddp::BucketLimits limits;
};
template <typename Archive>
void fields(Archive& archive, BucketQuestion& question) {
  archive(question.parameters, question.limits);
}

}  // namespace lockstep::grader
