// A port of this machine at which nobody answers.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "engine/comm/stores/socket.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

// Bound and not listened at, so that no program is given it that asks for any free port; who asks
// for this very one may listen at it.
class SilentPort {
 public:
  SilentPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  int number() const { return comm::port_of(socket_); }

 private:
  comm::Descriptor socket_;
};

}  // namespace lockstep::test
