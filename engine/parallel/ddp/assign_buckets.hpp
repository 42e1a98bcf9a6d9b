// Which gradient travels in which bucket. The plan is made before anything is sent.
//
// A few large messages cost less than many small ones, because every message pays the latency. But
// one message with everything can only start when backward is over. Buckets are the middle way:
// each closes at a limit, and is reduced while backward computes the gradients of the next. The
// first bucket is small, so that communication begins early.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/dtype.hpp"
#include "engine/collectives/bucket.hpp"

namespace lockstep::ddp {

struct ParamInfo {
  std::int64_t count = 0;  // elements
  DType dtype = DType::float32;
  int device = 0;  // which of the rank's devices
  bool operator==(const ParamInfo&) const = default;
};

// Bytes at which a bucket is full: for the first bucket of its kind, and for every later one.
struct BucketLimits {
  std::int64_t first_bytes = std::int64_t{1} << 20;  // 1 MiB
  std::int64_t cap_bytes = std::int64_t{25} << 20;   // 25 MiB
};

// Groups parameters into buckets, in the order of the list.
//   in_ready_order  the parameters, as their gradients are expected; the plan's numbers are places
//                   in this list
//   Ensures   each parameter is in exactly one bucket, and no bucket is empty;
//             a bucket holds one dtype on one device: each such kind fills buckets of its own, and
//             has a first bucket of its own;
//             a bucket is closed as soon as its bytes reach its limit, which is the first limit for
//             the first bucket of a kind and the cap for the rest. The parameter that reaches it is
//             still inside: a limit closes a bucket, but is no maximum;
//             the buckets stand in the order in which they closed; buckets that never closed
//             follow, in the order of their first members
//   Requires  limits and counts are not negative
//   Source    [DDP20] §3.2.2; PyTorch's compute_bucket_assignment_by_size (reducer.cpp)
collectives::BucketPlan assign_buckets(std::span<const ParamInfo> in_ready_order,
                                       const BucketLimits& limits);

}  // namespace lockstep::ddp
