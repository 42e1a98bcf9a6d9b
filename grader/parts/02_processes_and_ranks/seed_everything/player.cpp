// Plays seed_everything: a list of questions, five seeds each.
#include "grader/parts/02_processes_and_ranks/seed_everything/case.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  ByteWriter out;
  for (const SeedQuestion& q : decode_seed_questions(played.input)) {
    const Seeds seeds = seeds_for(q.run_seed, q.where, q.loader_worker);
    out.put(seeds.model).put(seeds.sampler).put(seeds.dropout).put(seeds.dropout_sharded);
    out.put(seeds.augmentation);
  }
  return out.take();
}

}  // namespace lockstep::grader
