// The judge as the processor of a rank: attention is a request, which takes the time that it takes.
// The answer is attention to values that nobody else has (RingWalk::timed).
#pragma once

#include <map>
#include <vector>

#include "engine/tensor/attention.hpp"
#include "grader/exam/reported_service.hpp"
#include "grader/parts/15_sequence_parallel/ring_attention/problem.hpp"

namespace lockstep::grader::ring_attention {

// A nanosecond for each FLOP of ops::attention.
double attention_s(const RingShape& queries, const RingShape& keys_values,
                   const ops::AttentionOptions& options);

class AttentionService final : public TypedService<AttentionCall> {
 public:
  AttentionService(const Problem& p, std::uint64_t salt);

  double computed_s(int rank) const { return computed_s_[at(rank)]; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, AttentionCall call, double now) override;
  // Puts the values in their places where a token's keys and values are some of the case's. The
  // rows of any number of heads may come, in any order.
  void unseal(Numbers& keys_values, std::size_t columns) const;

  Problem p_;
  Numbers sent_, attended_;                 // qkv
  std::map<double, std::size_t> place_of_;  // of a key's element, in them
  std::vector<double> computed_s_;
};

}  // namespace lockstep::grader::ring_attention
