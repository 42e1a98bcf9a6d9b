// Task: a barrier. No rank may return before every rank has called it. A message says "I am here",
// and a rank that sends one may speak for all of whom it has heard: so ⌈log₂N⌉ steps are enough.
// What is sent means nothing, but an empty tensor is no message: send `token`, and receive into
// room that empty_like makes. The contract stands in engine/collectives/barrier.hpp.
#include "engine/collectives/barrier.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void barrier(comm::Peers& peers, const Tensor& token) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)token;
  throw NotImplemented("barrier");
  // <<< your code
}

}  // namespace lockstep::collectives
