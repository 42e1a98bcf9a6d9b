// Tensor fusion: which of the gradients that are ready travel together. Many gradients are small,
// and every all-reduce pays the latency. So Horovod copies as many as fit into one buffer, and
// reduces the buffer.
//
//   threshold 100 bytes, ready in this order    a 40   b 30   c 40   d 30   e 200   f 20
//   groups                                      [a b]         [c d]         [e]     [f]
//
// DDP closes a bucket with the gradient that reaches the limit, so its buckets are larger than the
// limit (parallel/ddp/assign_buckets.hpp). Here, the limit is the size of a buffer: a gradient that
// does not fit begins the next group. DDP plans its buckets once; Horovod decides anew in each
// cycle, from what is ready.
//
// Source: horovod/common/controller.cc, Controller::FuseResponses [HVDSRC]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/dtype.hpp"

namespace lockstep::horovod {

// A gradient that all ranks have.
struct Ready {
  std::int64_t count = 0;  // elements
  DType dtype = DType::float32;
  bool operator==(const Ready&) const = default;
};

// Each group is one all-reduce; first to last. A number is a gradient's place among those that are
// ready.
struct FusionPlan {
  std::vector<std::vector<std::size_t>> groups;
  bool operator==(const FusionPlan&) const = default;
};

// Groups what is ready.
//   in_order  the same list on every rank, so that every rank makes the same plan
//   Ensures   each gradient is in exactly one group, and no group is empty;
//             a group has one dtype, and at most threshold_bytes, unless it is one gradient alone;
//             a threshold of 0 disables fusion: every gradient is alone;
//             groups stand in the order of their first members, and members in their order;
//             a group is as long as it can be: it takes each next gradient that fits. It passes
//             over gradients of another dtype to reach later ones of its own, while its bytes and
//             those passed over are together no more than the threshold: mixed precision makes
//             lists in which dtypes alternate. A gradient of its own dtype that does not fit ends
//             the group, because the bytes of the two are more than the threshold. What the group
//             passed over is grouped next
//   Requires  counts and threshold are not negative
FusionPlan fuse(std::span<const Ready> in_order, std::int64_t threshold_bytes);

}  // namespace lockstep::horovod
