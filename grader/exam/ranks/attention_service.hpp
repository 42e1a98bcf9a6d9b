// The judge as the processor of a rank: attention is a request, which takes the time that it takes.
// The answer is attention to values that nobody else has (play/asked_attention.hpp).
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/tensor/attention.hpp"
#include "grader/exam/function/dense_numbers.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/play/asked_attention.hpp"

namespace lockstep::grader {

// A nanosecond for each FLOP of ops::attention.
double attention_s(const AttentionShape& queries, const AttentionShape& keys_values,
                   const ops::AttentionOptions& options);

class AttentionService final : public TypedService<AttentionCall> {
 public:
  //   width     of a token's queries
  //   sent      [B, S, 3·width]: queries, keys and values, of which the ranks have pieces
  //   attended  the same with the values that are attended to
  AttentionService(Members members, std::int64_t width, Numbers sent, Numbers attended);

  double computed_s(int rank) const { return computed_s_[static_cast<std::size_t>(rank)]; }

 private:
  std::optional<Answer> answer(const sim::Actor& who, AttentionCall call, double now) override;
  // Puts the values in their places where a token's keys and values are some of the case's. The
  // rows of any number of heads may come, in any order.
  void unseal(Numbers& keys_values, std::size_t columns) const;

  Members members_;
  std::size_t width_;
  Numbers sent_, attended_;
  std::unordered_map<double, std::size_t> place_of_;  // of a key's element, in them
  std::vector<double> computed_s_;                    // by rank of the group
};

}  // namespace lockstep::grader
