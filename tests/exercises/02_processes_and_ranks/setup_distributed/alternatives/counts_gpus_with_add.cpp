// The backend is agreed on by counting: how many ranks have a GPU of their own.
#include <algorithm>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/comm/store_rendezvous.hpp"
#include "engine/launch/setup_distributed.hpp"

namespace lockstep::launch {

namespace {

// From `lowest` to `highest`, and written as this number would be written.
int number(const WorkerEnv& environment, const std::string& name, int lowest, int highest) {
  const auto entry = environment.find(name);
  if (entry == environment.end()) throw UsageError(name + " is missing");
  std::istringstream in(entry->second);
  int value = lowest - 1;
  in >> value;
  if (in.fail() || text(value) != entry->second || value < lowest || value > highest) {
    throw UsageError(name + " makes no sense: " + entry->second);
  }
  return value;
}

}  // namespace

Session setup_distributed(const WorkerEnv& environment, Machine& machine, double timeout_s) {
  const double end_s = machine.now_s() + timeout_s;
  constexpr int many = 1'000'000;
  const int size = number(environment, "WORLD_SIZE", 1, many);
  const int rank = number(environment, "RANK", 0, size - 1);
  const int local = number(environment, "LOCAL_RANK", 0, many);
  const int port = number(environment, "MASTER_PORT", 1, 65535);
  const auto addr = environment.find("MASTER_ADDR");
  if (addr == environment.end() || addr->second.empty()) throw UsageError("no MASTER_ADDR");
  const bool again = environment.count("TORCHELASTIC_RESTART_COUNT") > 0;
  const int attempt = again ? number(environment, "TORCHELASTIC_RESTART_COUNT", 0, many) : 0;
  comm::Endpoint at{addr->second, port};
  const auto launchers = environment.find("LOCKSTEP_STORE");
  if (launchers != environment.end()) {
    const auto there = comm::endpoint_of(launchers->second);
    if (!there) throw UsageError("LOCKSTEP_STORE is no address");
    at = *there;
  }

  Session session{
      .rank = rank, .size = size, .device = local, .hosted = {}, .store = {}, .group = {}};
  const bool mine_to_serve = launchers == environment.end() && rank == 0;
  if (mine_to_serve) session.hosted = machine.host_store(at);
  try {
    session.store = machine.connect_store(at, timeout_s);
  } catch (const CommError&) {
    if (launchers != environment.end()) throw;
    throw comm::RanksMissing({0}, size, timeout_s);
  }
  comm::Store& store = *session.store;
  const auto key = [&](const std::string& what) { return text(attempt, ":", what); };
  if (machine.gpus() > local) store.add(key("gpus"), 1);
  store.set(key(text(rank)), "here");
  if (store.add(key("ranks"), 1) == size) store.set(key("all"), "here");
  const std::vector<std::string> all{key("all")};
  try {
    store.wait(all, std::max(0.0, end_s - machine.now_s()));
  } catch (const CommError&) {
    std::vector<int> missing;
    for (int r = 0; r < size; ++r) {
      if (!store.check(key(text(r)))) missing.push_back(r);
    }
    throw comm::RanksMissing(missing, size, timeout_s);
  }
  if (store.add(key("gpus"), 0) == size) session.backend = Backend::nccl;
  session.group = machine.make_group(store, {.backend = session.backend,
                                             .rank = rank,
                                             .size = size,
                                             .device = local,
                                             .timeout_s = end_s - machine.now_s()});
  session.group->barrier();
  return session;
}

}  // namespace lockstep::launch
