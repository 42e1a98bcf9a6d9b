// Addresses of nodes: how they are typed, and which of a machine's several its peers can reach.
#pragma once

#include <string>

#include "engine/comm/endpoint.hpp"
#include "engine/comm/stores/socket.hpp"

namespace lockstep::launch {

// "HOST:PORT", "HOST" or "[::1]:PORT". Throws UsageError that begins with `whose`
// ("--rdzv-endpoint").
comm::Endpoint endpoint_in(const std::string& typed, int default_port, const std::string& whose);

// Names of this machine that mean this machine on every machine: localhost, 127.x.x.x, ::1.
bool is_loopback(const std::string& host);

// A socket that other nodes can connect to under the name `endpoint`. Debian gives a machine's own
// name a loopback address, under which nobody else reaches it; such a name listens everywhere.
//   Throws  UsageError when the port is in use or the host is not this machine: somebody named them
struct Listener {
  comm::Descriptor socket;
  std::string host;  // where it listens: the endpoint's host, or all addresses
};
Listener listen_for_nodes(const comm::Endpoint& endpoint);

// A free port that stays free of others while the descriptor lives: it is bound and does not
// listen, which Linux lets somebody do who asks for this very port (SO_REUSEADDR, as every server
// does).
comm::Descriptor reserve_port(const std::string& host);

// Throws UsageError when another program listens at a port that `option` asks for.
void check_port_is_free(const std::string& host, int port, const std::string& option);

// This machine's address as peers reach it that meet at `endpoint`: the one from which a packet to
// the endpoint leaves. Where that is a loopback address and the endpoint is none by name, this
// machine is the endpoint: then the first address of a network that is up.
std::string address_towards(const comm::Endpoint& endpoint);

std::string name_of_host();  // as this machine calls itself

}  // namespace lockstep::launch
