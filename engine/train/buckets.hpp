// The limits of buckets that a command line asks for: of DDP, and of pipelines that average.
#pragma once

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/options.hpp"
#include "engine/parallel/ddp/assign_buckets.hpp"

namespace lockstep::train {

inline ddp::BucketLimits bucket_limits(const Arguments& arguments) {
  const double bucket_mb = arguments.number("bucket-mb", 0);
  if (bucket_mb > 1 << 20) throw UsageError("--bucket-mb is more than 1,048,576");
  ddp::BucketLimits limits;
  limits.cap_bytes = static_cast<std::int64_t>(bucket_mb * (1 << 20));
  limits.first_bytes = std::min(limits.first_bytes, limits.cap_bytes);
  return limits;
}

}  // namespace lockstep::train
