// Plays scale_learning_rate: a list of questions, one rate each.
#include "grader/parts/05_data_parallel/scale_learning_rate/case.hpp"

#include "engine/base/error.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const auto& [step, rate] : decode_rate_questions(played.input)) {
    try {
      const double answer = optim::lr_at(step, rate);
      out.put(RateAnswer::rate).put(answer);
    } catch (const ContractError&) {
      out.put(RateAnswer::refused);
    }
  }
  return out.take();
}

}  // namespace lockstep::grader
