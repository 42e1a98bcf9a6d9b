// A plan of buckets, as it crosses the wall in both directions.
#pragma once

#include "engine/base/fields.hpp"
#include "engine/collectives/bucket.hpp"

namespace lockstep::collectives {

template <typename Archive>
void fields(Archive& archive, BucketPlan& plan) {
  archive(plan.buckets);
}

}  // namespace lockstep::collectives
