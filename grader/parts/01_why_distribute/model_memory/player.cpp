// Plays model_memory: a list of questions, one report each.
#include "grader/parts/01_why_distribute/model_memory/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const MemoryQuestion& q : decode_memory_questions(played.input)) {
    try {
      const auto report = plan::model_memory(q.parameters, q.recipe, q.saved_per_sample, q.batch);
      write(out.put(MemoryAnswer::report), report);
    } catch (const ContractError&) {
      out.put(MemoryAnswer::refused);
    }
  }
  return out.take();
}

}  // namespace lockstep::grader
