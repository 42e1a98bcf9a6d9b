// Plays read_the_hang: a diagnosis of each report.
#include "grader/parts/03_collectives/read_the_hang/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<comm::HangReport>(played, comm::diagnose);
}

}  // namespace lockstep::grader
