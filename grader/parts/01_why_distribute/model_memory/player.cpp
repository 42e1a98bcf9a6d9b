// Plays model_memory: a list of questions, one report each.
#include "grader/parts/01_why_distribute/model_memory/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const MemoryQuestion& q : decode_memory_questions(played.input)) {
    plan::MemoryReport report;
    write(out, ending_of<ContractError>([&] {
            report = plan::model_memory(q.parameters, q.recipe, q.saved_per_sample, q.batch);
          }));
    write(out, report);
  }
  return out.take();
}

}  // namespace lockstep::grader
