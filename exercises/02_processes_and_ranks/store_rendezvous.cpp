// Task: let ranks find each other through a store. Each rank publishes where it listens, waits
// until all have done so, and returns everybody's address in the order of ranks. A store outlives
// the processes that write to it: after a restart it still holds the addresses of those that died,
// so what is read must be of this attempt. When the time is up, say who has not come: "timeout"
// alone does not tell anybody on which of a hundred machines to look. The contract stands in
// engine/comm/store_rendezvous.hpp.
#include "engine/comm/store_rendezvous.hpp"

#include "engine/base/error.hpp"

namespace lockstep::comm {

std::vector<Endpoint> rendezvous(Store& store, int rank, int size, const Endpoint& mine,
                                 int attempt, double timeout_s) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)store, (void)rank, (void)size, (void)mine, (void)attempt, (void)timeout_s;
  throw NotImplemented("store_rendezvous");
  // <<< your code
}

}  // namespace lockstep::comm
