// Sockets are close-on-exec and non-blocking: a launched program inherits none, and whoever waits
// does so in poll(), with a deadline.
#include "engine/comm/stores/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include "engine/base/error.hpp"

namespace lockstep::comm {

namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, int port) {
  if (port < 0 || port > 65535) {
    throw UsageError(text("port ", port, " does not exist: ports count from 0 to 65535"));
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      rc != 0) {
    throw CommError(text("the address ", host, " cannot be resolved (", gai_strerror(rc),
                         "); pass a host name or an IP address, such as 127.0.0.1"));
  }
  return {found, freeaddrinfo};
}

Descriptor socket_for(const addrinfo& address) {
  return Descriptor(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           address.ai_protocol));
}

bool wait_connected(const Descriptor& connection, Deadline deadline) {
  pollfd entry{connection.get(), POLLOUT, 0};
  if (poll(&entry, 1, poll_ms_until(deadline)) <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

}  // namespace

Deadline deadline_after(double seconds) {
  constexpr double most_s = 1e9;  // what is added to the clock must fit into it
  const double left_s = seconds > 0 ? std::min(seconds, most_s) : 0;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(left_s));
}

int poll_ms_until(Deadline deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  if (left <= left.zero()) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<long long>(ms, std::numeric_limits<int>::max()));
}

void Descriptor::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Descriptor listen_on(const std::string& host, int port) {
  const AddressList addresses = resolve(host, port);
  Descriptor listener = socket_for(*addresses);
  const int yes = 1;  // a port whose last user has just gone is free
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      listen(listener.get(), 1024) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      throw CommError(text("port ", port, " on ", host, " is in use by another program; pass ",
                           "--port 0 for a free one, or another number"));
    }
    throw CommError(text("cannot listen on ", host, ":", port, " (", std::strerror(error),
                         "); the address must be one of this machine's, such as 127.0.0.1"));
  }
  return listener;
}

int port_of(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  const auto port = address.ss_family == AF_INET6
                        ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                        : reinterpret_cast<const sockaddr_in&>(address).sin_port;
  return ntohs(port);
}

Descriptor connect_to(const std::string& host, int port, Deadline deadline) {
  const AddressList addresses = resolve(host, port);
  while (true) {
    Descriptor connection = socket_for(*addresses);
    const int rc = connect(connection.get(), addresses->ai_addr, addresses->ai_addrlen);
    if (rc == 0 || (errno == EINPROGRESS && wait_connected(connection, deadline))) {
      const int yes = 1;  // small requests must not wait for company
      setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return connection;
    }
    const int error = errno;
    if (poll_ms_until(deadline) == 0) {
      throw CommError(text("nobody answers at ", host, ":", port, " (", std::strerror(error),
                           ") before the deadline; is the launcher or rank 0 running there?"));
    }
    // Nobody listens yet: rank 0 may still be starting. poll() without descriptors is the pause.
    poll(nullptr, 0, std::min(20, poll_ms_until(deadline)));
  }
}

}  // namespace lockstep::comm
