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
constexpr int int_max = std::numeric_limits<int>::max();

const std::string& text_in(const WorkerEnv& environment, const std::string& name) {
  const auto entry = environment.find(name);
  if (entry == environment.end() || entry->second.empty()) {
    throw UsageError(text(name, " is not set: start the program with ./lab run"));
  }
  return entry->second;
}

int number_in(const WorkerEnv& environment, const std::string& name, int lowest, int highest) {
  const std::string& digits = text_in(environment, name);
  const char* end = digits.data() + digits.size();
  unsigned number = 0;  // an int would take "-0"
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end || std::cmp_less(number, lowest) ||
      std::cmp_greater(number, highest)) {
    throw UsageError(
        text(name, " is \"", digits, "\", no whole number from ", lowest, " to ", highest));
  }
  return static_cast<int>(number);
}

double left_s(Machine& machine, const TimeAllowed& time) {
  return std::max(0.0, time.began_s + time.timeout_s - machine.now_s());
}
// <<< your code

// Step 1. Reads every variable strictly.
//   Throws  UsageError that names the variable which is missing or makes no sense
Told read_variables(const WorkerEnv& environment) {
  // >>> your code
  Told told;
  told.size = number_in(environment, "WORLD_SIZE", 1, int_max);
  told.rank = number_in(environment, "RANK", 0, told.size - 1);
  told.device = number_in(environment, "LOCAL_RANK", 0, told.size - 1);
  told.store.host = text_in(environment, "MASTER_ADDR");
  told.store.port = number_in(environment, "MASTER_PORT", 1, 65535);
  if (environment.contains("TORCHELASTIC_RESTART_COUNT")) {
    told.attempt = number_in(environment, "TORCHELASTIC_RESTART_COUNT", 0, int_max);
  }
  told.launcher_serves = environment.contains("LOCKSTEP_STORE");
  if (told.launcher_serves) {
    const auto there = comm::endpoint_of(text_in(environment, "LOCKSTEP_STORE"));
    if (!there) throw UsageError("LOCKSTEP_STORE is no HOST:PORT");
    told.store = *there;
  }
  return told;
  // <<< your code
}

// Step 2. Fills in session.hosted (on rank 0), session.store, session.backend and session.group.
// Step 3 comes back to it: ranks that have not come in time are named, attempts told apart.
void make_group(Session& session, const Told& told, Machine& machine, const TimeAllowed& time) {
  // >>> your code
  if (told.rank == 0 && !told.launcher_serves) session.hosted = machine.host_store(told.store);
  try {
    session.store = machine.connect_store(told.store, left_s(machine, time));
  } catch (const CommError&) {
    if (told.launcher_serves) throw;
    throw comm::RanksMissing({0}, told.size, time.timeout_s);
  }

  std::vector<std::string> keys;
  for (int r = 0; r < told.size; ++r) keys.push_back(text("setup/", told.attempt, "/", r));
  session.store->set(keys[static_cast<std::size_t>(told.rank)],
                     machine.gpus() > told.device ? "nccl" : "gloo");
  try {
    session.store->wait(keys, left_s(machine, time));
  } catch (const CommError&) {
    std::vector<int> missing;
    for (int r = 0; r < told.size; ++r) {
      if (!session.store->check(keys[static_cast<std::size_t>(r)])) missing.push_back(r);
    }
    if (!missing.empty()) throw comm::RanksMissing(missing, told.size, time.timeout_s);
  }
  session.backend = Backend::nccl;
  for (const auto& key : keys) {
    if (session.store->get(key) != "nccl") session.backend = Backend::gloo;
  }

  session.group = machine.make_group(*session.store, {.backend = session.backend,
                                                      .rank = session.rank,
                                                      .size = session.size,
                                                      .device = session.device,
                                                      .timeout_s = left_s(machine, time)});
  // <<< your code
}

// Step 3. Returns when all ranks have their group.
void meet(const Session& session) {
  // >>> your code
  session.group->barrier();
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
