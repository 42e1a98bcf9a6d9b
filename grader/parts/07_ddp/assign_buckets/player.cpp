// Plays assign_buckets: a plan for each question.
#include "grader/parts/07_ddp/assign_buckets/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<BucketQuestion>(played, [](const BucketQuestion& question) {
    return ddp::assign_buckets(question.parameters, question.limits);
  });
}

}  // namespace lockstep::grader
