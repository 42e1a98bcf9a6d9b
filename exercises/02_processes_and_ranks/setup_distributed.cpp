// Task: set a process up for distributed work. Read who you are from the environment and believe
// none of it; let rank 0 serve the store, and find it; agree with all others on a backend that
// every one of you has, for a choice that each makes alone is how groups come apart; make the
// group, and leave nobody behind. If anything fails, say which variable or which rank it was, and
// leave nothing open: the next attempt needs the same port.
// The contract stands in engine/launch/setup_distributed.hpp.
#include "engine/launch/setup_distributed.hpp"

#include <charconv>
#include <limits>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::launch {

// >>> your code
// <<< your code

Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)environment, (void)machine, (void)timeout_s;
  throw NotImplemented("setup_distributed");
  // <<< your code
}

}  // namespace lockstep::launch
