// Task: set a process up for distributed work, in three steps. Step 1: read who you are from the
// environment and believe none of it. Step 2: let rank 0 serve the store, and find it; agree with
// all others on a backend that every rank can use, and make the group. Step 3: hand it out behind
// its barrier, name the ranks that have not come, keep to the time, and tell attempts apart.
// The contract stands in engine/launch/setup_distributed.hpp.
#include "engine/launch/setup_distributed.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"

namespace lockstep::launch {
namespace {

// What the variables say.
struct Told {
  int size = 1, rank = 0, device = 0;
  comm::Endpoint store;          // where the store is
  bool launcher_serves = false;  // otherwise rank 0 serves it
  int attempt = 0;
};

// When the call began, and how long it may take, by machine.now_s().
struct TimeAllowed {
  double began_s = 0, timeout_s = 0;
};

// >>> your code
// <<< your code

// Step 1. Reads every variable strictly.
//   Throws  UsageError that names the variable which is missing or makes no sense
Told read_variables(const WorkerEnv& environment) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)environment;
  throw NotImplemented("setup_distributed");
  // <<< your code
}

// Step 2. Fills in session.hosted (on rank 0), session.store, session.backend and session.group.
// Step 3 comes back to it: ranks that have not come in time are named, attempts told apart.
void make_group(Session& session, const Told& told, Machine& machine, const TimeAllowed& time) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)session, (void)told, (void)machine, (void)time;
  throw NotImplemented("setup_distributed");
  // <<< your code
}

// Step 3. Returns when all ranks have their group.
void meet(const Session& session) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)session;
  throw NotImplemented("setup_distributed");
  // <<< your code
}

}  // namespace

Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s) {
  const TimeAllowed time{machine.now_s(), timeout_s};
  const Told told = read_variables(environment);

  Session session;
  session.rank = told.rank;
  session.size = told.size;
  session.device = told.device;
  make_group(session, told, machine, time);
  meet(session);
  return session;
}

}  // namespace lockstep::launch
