// The machine on which a program runs, as setup_distributed asks for it. (It has no GPU that a
// group could use: there is no backend for them here.)
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/comm/gloo.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/environment.hpp"
#include "engine/launch/machine.hpp"
#include "engine/launch/node_layout.hpp"

namespace lockstep::apps {

// Those variables of this process that setup_distributed reads.
inline launch::WorkerEnv variables_of(const launch::Lookup& lookup) {
  launch::WorkerEnv variables;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                           "LOCKSTEP_STORE", "TORCHELASTIC_RESTART_COUNT"}) {
    if (const auto value = lookup(name)) variables[name] = *value;
  }
  return variables;
}

class ThisMachine : public launch::Machine {
 public:
  // `hostname` is this machine's address, as its peers reach it.
  explicit ThisMachine(std::string hostname = "127.0.0.1") : hostname_(std::move(hostname)) {}

  int gpus() override { return 0; }
  // All processes of one machine have the same steady clock.
  double now_s() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::unique_ptr<launch::HostedStore> host_store(const comm::Endpoint& at) override {
    return std::make_unique<Served>(at);
  }
  std::unique_ptr<comm::Store> connect_store(const comm::Endpoint& at, double timeout_s) override {
    return comm::connect_store(at.host, at.port, timeout_s);
  }
  std::unique_ptr<comm::ProcessGroup> make_group(comm::Store& store,
                                                 const launch::GroupOptions& options) override {
    comm::GlooOptions gloo;
    gloo.meet_timeout_s = options.timeout_s;
    gloo.hostname = hostname_;
    return comm::make_gloo_group(store, options.rank, options.size, gloo);
  }

 private:
  struct Served final : launch::HostedStore {
    explicit Served(const comm::Endpoint& at) : server(at.port, at.host) {}
    comm::StoreServer server;
  };
  std::string hostname_;
};

}  // namespace lockstep::apps
