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
namespace {

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
  int number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size() || number < lowest ||
      number > highest) {
    throw UsageError(
        text(name, " is \"", digits, "\", no whole number from ", lowest, " to ", highest));
  }
  return number;
}

}  // namespace
// <<< your code

Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s) {
  // >>> your code
  const double deadline_s = machine.now_s() + timeout_s;
  const auto left_s = [&] { return std::max(0.0, deadline_s - machine.now_s()); };

  Session session;
  session.size = number_in(environment, "WORLD_SIZE", 1, int_max);
  session.rank = number_in(environment, "RANK", 0, session.size - 1);
  session.device = number_in(environment, "LOCAL_RANK", 0, session.size - 1);
  comm::Endpoint at{text_in(environment, "MASTER_ADDR"),
                    number_in(environment, "MASTER_PORT", 1, 65535)};
  int attempt = 0;
  if (environment.contains("TORCHELASTIC_RESTART_COUNT")) {
    attempt = number_in(environment, "TORCHELASTIC_RESTART_COUNT", 0, int_max);
  }
  const bool served = environment.contains("LOCKSTEP_STORE");
  if (served) {
    const auto there = comm::endpoint_of(text_in(environment, "LOCKSTEP_STORE"));
    if (!there) throw UsageError("LOCKSTEP_STORE is no HOST:PORT");
    at = *there;
  }

  if (session.rank == 0 && !served) session.hosted = machine.host_store(at);
  try {
    session.store = machine.connect_store(at, left_s());
  } catch (const CommError&) {
    if (served) throw;
    throw comm::RanksMissing({0}, session.size, timeout_s);
  }

  std::vector<std::string> keys;
  for (int r = 0; r < session.size; ++r) keys.push_back(text("setup/", attempt, "/", r));
  session.store->set(keys[static_cast<std::size_t>(session.rank)],
                     machine.gpus() > session.device ? "nccl" : "gloo");
  try {
    session.store->wait(keys, left_s());
  } catch (const CommError&) {
    std::vector<int> missing;
    for (int r = 0; r < session.size; ++r) {
      if (!session.store->check(keys[static_cast<std::size_t>(r)])) missing.push_back(r);
    }
    if (!missing.empty()) throw comm::RanksMissing(missing, session.size, timeout_s);
  }
  session.backend = Backend::nccl;
  for (const auto& key : keys) {
    if (session.store->get(key) != "nccl") session.backend = Backend::gloo;
  }

  session.group = machine.make_group(*session.store, {.backend = session.backend,
                                                      .rank = session.rank,
                                                      .size = session.size,
                                                      .device = session.device,
                                                      .timeout_s = left_s()});
  session.group->barrier();
  return session;
  // <<< your code
}

}  // namespace lockstep::launch
