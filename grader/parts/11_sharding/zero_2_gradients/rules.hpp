// The problems of zero_2_gradients, and the rules for when buckets travel.
#pragma once

#include <string>
#include <vector>

#include "grader/exam/driven/run.hpp"
#include "grader/exam/ranks/dealt.hpp"
#include "grader/exam/ranks/member_memory.hpp"
#include "grader/parts/11_sharding/zero_2_gradients/case.hpp"

namespace lockstep::grader::zero_2_gradients {

struct Problem {
  Members members = whole_world(2);
  DrivenScript script{};
  collectives::BucketPlan plan{};
  std::uint64_t schedule_seed = 0;
  bool measured = false;  // the memory of its processes is

  int ranks() const { return members.size(); }
  std::vector<std::int64_t> counts(std::size_t bucket) const;  // elements of its parameters
  zero::FlatShards cut(std::size_t bucket) const {
    return zero::flat_shards(counts(bucket), ranks());
  }
  DType sums() const;
  std::int64_t bytes(std::int64_t numbers) const;  // of gradients
  std::string description() const;
};

using Reports = std::vector<Zero2Report>;

// The sums after each pass, and no grad that is left.
void check_sums(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
                const Reports& reports, const ScriptService& events);

// After each call, a bucket that has started has left no grad in its parameters.
void check_freed(CaseRunner& runner, const Played& played, const Problem& p, const Reports& reports,
                 const ScriptService& events);

}  // namespace lockstep::grader::zero_2_gradients
