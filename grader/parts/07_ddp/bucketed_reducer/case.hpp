// The case format of bucketed_reducer, shared by adapter and exam.
#pragma once

#include <limits>

#include "grader/play/bucket_plan.hpp"
#include "grader/play/driven_play.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct ReducerCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  Gradients parameters{};  // none of which has a gradient yet
  // The plans of the first reducer, and of those that are made after it, in turn.
  std::vector<collectives::BucketPlan> plans{};
  double share = 1;
  double afterwards = 1;  // what the hook multiplies a bucket by once its sum is there
  // A second reducer, of parameters of its own, is driven by the same events, with gradients that
  // are twice as large.
  bool twin = false;
  // In the passes after so many, the hook starts nothing: what it returns notes that it is waited
  // for. Such a pass is unfinished, so that the reduction of a started bucket may never end.
  std::uint64_t passes = std::numeric_limits<std::uint64_t>::max();
};

// A bucket as the hook was given it.
struct StartedBucket {
  std::uint64_t index = 0;
  bool last = false;
  std::int64_t count = 0;                            // elements of the whole
  std::vector<std::vector<std::int64_t>> gradients;  // their shapes
  bool in_place = true;  // each gradient is its part of the whole, one after the other
  Bytes elements{};      // of the whole
};

struct ReducerReport {
  DrivenReport driven;
  std::vector<GradientReports> twin;  // the same of the second reducer's parameters
  std::vector<StartedBucket> started;
  std::uint64_t places_left = 0;        // parameters that have a grad_place when no reducer is left
  std::vector<std::uint64_t> waited{};  // the buckets of an unfinished pass that were waited for
};

template <typename Archive>
void fields(Archive& archive, ReducerCase& c) {
  archive(c.group, c.peer, c.parameters, c.plans, c.share, c.afterwards, c.twin, c.passes);
}
template <typename Archive>
void fields(Archive& archive, StartedBucket& bucket) {
  archive(bucket.index, bucket.last, bucket.count, bucket.gradients, bucket.in_place,
          bucket.elements);
}
template <typename Archive>
void fields(Archive& archive, ReducerReport& report) {
  archive(report.driven, report.twin, report.started, report.places_left, report.waited);
}

}  // namespace lockstep::grader
