// The store that ranks of a real run share: a small server in the launcher, a client in each rank.
// What is left out: encryption, and asking who is there (it serves one run on one network).
//
// Invariants
//   1. A client that dies, stalls or sends garbage costs itself its connection, nobody else.
//   2. The deadline of a wait is kept by the server, so a late answer never meets the next request.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "engine/comm/store.hpp"
#include "engine/comm/stores/socket.hpp"

namespace lockstep::comm {

// Serves one dictionary from one thread until it is destroyed. Port 0 takes a free one.
//   Throws  CommError when the port is in use or the address is not this machine's
class StoreServer {
 public:
  explicit StoreServer(int port = 0, std::string host = "127.0.0.1");
  // On a socket that listens already, at `host`: who connects to it before this is served now.
  StoreServer(Descriptor listener, std::string host);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  const std::string& host() const { return host_; }
  int port() const { return port_; }

 private:
  std::string host_;
  Descriptor listener_;
  Descriptor stop_;  // an eventfd: readable means end
  int port_ = 0;
  std::thread thread_;
};

// A client of the server at host:port. Tries until the server is there; `timeout_s` also bounds
// get(), and what wait() may add to its own deadline when the server does not answer.
//   Thread  calls may come from several threads; who waits keeps nobody else from calling, since
//           each has a connection of its own meanwhile
//   Throws  CommError naming key, address and seconds, when a deadline passes or the server is lost
std::unique_ptr<Store> connect_store(const std::string& host, int port, double timeout_s = 30.0);

}  // namespace lockstep::comm
