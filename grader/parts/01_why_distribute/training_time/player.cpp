// Plays training_time: a list of questions, one estimate each.
#include "grader/parts/01_why_distribute/training_time/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const TimeQuestion& q : decode_time_questions(played.input)) {
    const plan::TimeEstimate estimate = q.form == TimeForm::measured
                                            ? plan::training_time(q.measured, q.ranks)
                                            : plan::training_time(q.counted, q.device, q.ranks);
    out.put(estimate.updates).put(estimate.seconds).put(estimate.rank_seconds);
  }
  return out.take();
}

}  // namespace lockstep::grader
