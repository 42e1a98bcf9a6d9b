// Translates what the core found about an all-reduce into the words of a plan of buckets. The core
// sees elements and times. An exam knows which bucket has that many, and in which pass that time
// lies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/collectives/bucket.hpp"
#include "engine/sim/core/finding.hpp"
#include "grader/exam/driven/script.hpp"

namespace lockstep::grader {

struct PlannedBuckets {
  const collectives::BucketPlan& plan;
  const std::vector<std::int64_t>& sizes;  // elements of each parameter
  DType dtype = DType::float32;

  // The bucket that this call reduces: nothing where none has as many elements, or several have.
  std::optional<std::size_t> bucket_of(const sim::FoundCall& call) const;
  // "bucket 2 (parameters [2, 1, 0])"
  std::string text_of(std::size_t bucket) const;
};

// The position of a rank in its passes at a time: the last event that it was given.
struct ReachedPass {
  std::size_t pass = 0;
  std::vector<std::size_t> ready;  // parameters whose gradients had come in it, in this order
};
ReachedPass reached_pass(const std::vector<ScriptService::Note>& notes, double at_s);

}  // namespace lockstep::grader
