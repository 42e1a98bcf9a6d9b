// Plays naive_all_reduce: every rank has elements and gets their reduction.
#include "engine/collectives/naive_all_reduce.hpp"

#include "grader/play/all_reduce_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return play_all_reduce(played, collectives::naive_all_reduce);
}

}  // namespace lockstep::grader
