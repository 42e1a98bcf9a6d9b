// Buckets of gradients: several parameters' gradients in one flat tensor, so that one collective
// carries them all. What plans them, fills them, reduces or shards them is in the rooms above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/process_group.hpp"

namespace lockstep::collectives {

// Which parameters share a bucket, and in which order the buckets are reduced: first to last. A
// number is a parameter's place in a list that is the same on all ranks.
struct BucketPlan {
  std::vector<std::vector<std::size_t>> buckets;
  bool operator==(const BucketPlan&) const = default;
};
std::string text_of(const BucketPlan& plan);  // "[[3, 2], [1, 0]]"

// A full bucket, as the hook receives it.
struct GradientBucket {
  std::size_t index = 0;          // its place in the plan
  bool last = false;              // of the plan: no bucket follows in this backward pass
  Tensor flat;                    // [elements of all its parameters]
  std::vector<Tensor> gradients;  // the same elements, in each parameter's shape, in plan order
};

// A hook that is called on a full bucket instead of the plain sum, such as a reduction in fewer
// bits. It is an object, because compression remembers what it left out. PyTorch's communication
// hook.
//
// The gradients come as this rank computed them: a hook that averages multiplies by 1/N itself,
// before it sums.
class CommHook {
 public:
  virtual ~CommHook() = default;
  // Begins the reduction of `bucket`; when the Work has been waited for, bucket.flat is reduced and
  // the same bits on every rank. Called in the middle of backward(), in the order of the plan, the
  // same on every rank: it should start communication and return, and may finish in wait().
  //   bucket  outlives the Work; no other code touches its elements meanwhile
  virtual comm::Work start(comm::ProcessGroup& group, const GradientBucket& bucket) = 0;
};

}  // namespace lockstep::collectives
