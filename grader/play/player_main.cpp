// The main program of every player: serves cases to the one adapter it is linked with.
#include "engine/sim/hosts/player.hpp"
#include "grader/play/part.hpp"
#include "grader/play/thrown_at.hpp"

int main() {
  return lockstep::sim::serve_cases(lockstep::grader::play, lockstep::grader::thrown_at,
                                    lockstep::grader::take_caught);
}
