// Plays scale_learning_rate: a list of questions, one rate each.
#include "grader/parts/05_data_parallel/scale_learning_rate/case.hpp"

#include "engine/base/error.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const auto& [step, rate] : decode_rate_questions(played.input)) {
    double answer = 0;
    write(out, ending_of<ContractError>([&] { answer = optim::lr_at(step, rate); }));
    out.put(answer);
  }
  return out.take();
}

}  // namespace lockstep::grader
