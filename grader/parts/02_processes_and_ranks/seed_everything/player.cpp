// Plays seed_everything: the five seeds of each question.
#include "grader/parts/02_processes_and_ranks/seed_everything/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<SeedQuestion>(played, [](const SeedQuestion& q) {
    return seeds_for(q.run_seed, q.where, q.loader_worker);
  });
}

}  // namespace lockstep::grader
