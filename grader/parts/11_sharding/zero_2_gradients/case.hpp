// The case format of zero_2_gradients, shared by adapter and exam.
#pragma once

#include "grader/play/bucket_plan.hpp"
#include "grader/play/driven_play.hpp"
#include "grader/play/part.hpp"
#include "grader/play/shard_plan.hpp"

namespace lockstep::grader {

struct Zero2Case {
  GroupChoice group{};
  Peer peer = Peer::stays;
  Gradients parameters{};  // by elements; none of them has a gradient yet
  collectives::BucketPlan plan{};
  std::vector<zero::FlatShards> cuts{};  // by bucket
  DType sums = DType::float32;
};

// A rank's sums after a pass.
struct Zero2Sums {
  std::vector<Bytes> sums{};     // by bucket
  std::vector<DType> dtypes{};   // of each
  std::uint64_t grads_left = 0;  // parameters that have a grad
};

struct Zero2Report {
  std::vector<Zero2Sums> after{};                  // each finalize
  std::vector<std::vector<std::uint8_t>> grads{};  // by parameter, after each on_gradient_ready
};

template <typename Archive>
void fields(Archive& archive, Zero2Case& c) {
  archive(c.group, c.peer, c.parameters, c.plan, c.cuts, c.sums);
}
template <typename Archive>
void fields(Archive& archive, Zero2Sums& after) {
  archive(after.sums, after.dtypes, after.grads_left);
}
template <typename Archive>
void fields(Archive& archive, Zero2Report& report) {
  archive(report.after, report.grads);
}

}  // namespace lockstep::grader
