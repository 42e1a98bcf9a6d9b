#include "engine/launch/address.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

using comm::Descriptor;
using comm::Endpoint;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const Endpoint& endpoint, int kind) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = kind;
  addrinfo* found = nullptr;
  const std::string port = text(endpoint.port);
  if (const int rc = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found); rc != 0) {
    throw CommError(text("the address ", endpoint.host, " cannot be resolved (", gai_strerror(rc),
                         "); pass a host name or an IP address"));
  }
  return {found, freeaddrinfo};
}

std::string numeric(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  if (getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

std::string own_address_of(const Descriptor& socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  return getsockname(socket.get(), address, &size) == 0 ? numeric(address, size) : "";
}

// The address of an interface that is up and leads out of this machine; empty if there is none.
std::string first_network_address() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(raw, freeifaddrs);
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    return numeric(one->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

}  // namespace

Endpoint endpoint_in(const std::string& typed, int default_port, const std::string& whose) {
  const auto refuse = [&](const std::string& why) {
    return UsageError(text(whose, " is \"", typed, "\", ", why,
                           "; it must be HOST:PORT, such as node-0:29400 or [::1]:29400"));
  };
  std::string plain = typed;  // without brackets
  auto host_end = typed.find(':');
  if (typed.starts_with('[')) {
    host_end = typed.find(']');
    if (host_end == std::string::npos) throw refuse("whose bracket is not closed");
    plain.erase(host_end, 1).erase(0, 1);
    --host_end;
  } else if (typed.find(':', host_end + 1) != std::string::npos && host_end != std::string::npos) {
    throw refuse("which has several colons");
  }
  host_end = std::min(host_end, plain.size());
  if (host_end == 0) throw refuse("which has no host");
  if (host_end == plain.size()) return {plain, default_port};
  const auto endpoint = comm::endpoint_of(plain);
  if (!endpoint || endpoint->host.size() != host_end) {
    throw refuse("whose port is not a number from 0 to 65535");
  }
  return *endpoint;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Listener listen_for_nodes(const Endpoint& endpoint) try {
  Listener own{comm::listen_on(endpoint.host, endpoint.port), endpoint.host};
  if (is_loopback(endpoint.host) || !is_loopback(own_address_of(own.socket))) return own;
  const int port = comm::port_of(own.socket);
  own.socket.reset();
  return {comm::listen_on("0.0.0.0", port), "0.0.0.0"};
} catch (const CommError& error) {
  throw UsageError(error.what());
}

Descriptor reserve_port(const std::string& host) {
  const Addresses addresses = resolve({host, 0}, SOCK_STREAM);
  Descriptor held(socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(held.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(held.get(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    throw CommError(text("cannot reserve a port of ", host, ": ", std::strerror(errno),
                         "; the address must be one of this machine's"));
  }
  return held;
}

void check_port_is_free(const std::string& host, int port, const std::string& option) {
  try {
    comm::listen_on(host, port);
  } catch (const CommError& error) {
    std::string why = error.what();
    const std::string_view typed = "--port";
    const auto at = why.find(typed);
    if (at != std::string::npos) why.replace(at, typed.size(), option);
    throw UsageError(why);
  }
}

std::string address_towards(const Endpoint& endpoint) {
  const Addresses addresses = resolve(endpoint, SOCK_DGRAM);
  const Descriptor probe(socket(addresses->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::string own;  // connecting a datagram socket sends nothing; it chooses the route
  if (connect(probe.get(), addresses->ai_addr, addresses->ai_addrlen) == 0) {
    own = own_address_of(probe);
  }
  if (!own.empty() && (!is_loopback(own) || is_loopback(endpoint.host))) return own;
  const std::string network = first_network_address();
  return network.empty() ? "127.0.0.1" : network;
}

std::string name_of_host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

}  // namespace lockstep::launch
