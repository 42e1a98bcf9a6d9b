// The choice between shared memory and TCP, made alike by every rank: each says in the store on
// which host it is, and looks at what the others said.
#include <algorithm>

#include "engine/comm/solo_group.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/comm/worlds/hosts/host.hpp"
#include "engine/comm/worlds/hosts/hosts_group.hpp"
#include "engine/comm/worlds/rendezvous.hpp"
#include "engine/comm/worlds/shm/shm_group.hpp"

namespace lockstep::comm {

namespace {

// By rank.
std::vector<std::string> hosts_of(Store& store, int rank, int size, const GlooOptions& options) {
  const auto keys = with_prefix(store, "hosts/" + options.name);
  keys->set(text("host/", rank), options.node.empty() ? this_host() : "node " + options.node);
  meet(*keys, rank, size, options.names, options.hostname, options.name, options.meet_timeout_s);
  std::vector<std::string> hosts;
  for (int r = 0; r < size; ++r) hosts.push_back(keys->get(text("host/", r)));
  return hosts;
}

void check_one_host(const std::vector<std::string>& hosts, int rank) {
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] == hosts[static_cast<std::size_t>(rank)]) continue;
    throw UsageError(text("the transport shm needs all ranks on one host, but rank ", rank,
                          " is on \"", hosts[static_cast<std::size_t>(rank)], "\" and rank ", other,
                          " on \"", hosts[other], "\"; pass --transport auto"));
  }
}

}  // namespace

Transport transport_of(const std::string& name) {
  if (name == "auto") return Transport::automatic;
  if (name == "gloo") return Transport::gloo;
  if (name == "shm") return Transport::shm;
  throw UsageError(text("there is no transport \"", name, "\"; choose auto, gloo or shm"));
}

std::unique_ptr<ProcessGroup> make_gloo_group(Store& store, int rank, int size,
                                              const GlooOptions& options) {
  LOCKSTEP_CHECK(size >= 1 && rank >= 0 && rank < size, "make_gloo_group: rank ", rank, " of ",
                 size, " ranks does not exist; ranks count from 0 to size - 1");
  LOCKSTEP_CHECK(options.timeout_s > 0, "make_gloo_group: operations with a deadline of ",
                 options.timeout_s, " s; it must be positive");
  if (size == 1) return make_solo_group(options.names);
  if (options.transport == Transport::gloo) return make_tcp_group(store, rank, size, options);
  std::vector<std::string> hosts = hosts_of(store, rank, size, options);
  if (options.transport == Transport::shm) check_one_host(hosts, rank);
  return make_group_on(store, rank, std::move(hosts), options);
}

std::unique_ptr<ProcessGroup> make_group_on(Store& store, int rank, std::vector<std::string> hosts,
                                            const GlooOptions& options) {
  if (hosts.size() == 1) return make_solo_group(options.names);
  const bool one_host = std::ranges::all_of(hosts, [&](const auto& h) { return h == hosts[0]; });
  if (!one_host) return make_hosts_group(store, rank, std::move(hosts), options);
  ShmOptions shm;
  shm.timeout_s = options.timeout_s;
  shm.meet_timeout_s = options.meet_timeout_s;
  shm.name = options.name;
  shm.names = options.names;
  return make_shm_group(store, rank, static_cast<int>(hosts.size()), shm);
}

}  // namespace lockstep::comm
